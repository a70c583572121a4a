"""Fields of other programs' agents: what each is here, or why it cannot be read.

What only describes, or picks among what there is one of here, is a warning. One that
would change what an agent is or may do is read where we have the same, and refused with
the way out where we have not. None of them is told a second time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agents.diagnostic import describe
from bridge.policy.tool_names import OURS, OWN_SERVER, WITHIN, is_own_server
from bridge.protocol.names import CLIENT_MODELS, INHERIT, is_model

if TYPE_CHECKING:
    from bridge.agents.diagnostic import Place
    from bridge.agents.yaml_source import Tree

    Json = dict[str, Any]

# What an agent is told before its task, in this order, each under its title.
PERSONA = ("role", "goal", "personality", "instructions")
_REFUSED = {
    "allowed_mcp_tools": "write each into `tools`, as mcp__SERVER__TOOL",
    "rule_definitions": "rules are in rules.yaml; what is never allowed is in "
    "`blocked_tools`",
    "sources": "`routes` says where an agent runs; leave this out",
    "surfaces": "`routes` says where an agent runs; leave this out",
    "isolation": "a pipeline's step says `worktree`; leave this out",
    "base_branch": "a pipeline's worktree has a `base`; leave this out",
    "sandbox": "what an agent may do is in `tools`, `blocked_tools` and `allow`",
    "extends": "nothing is inherited: copy the other agent's fields",
    "skills": "an agent loads none by itself: say in `prompt` what it should read",
    "skill_profile": "an agent loads none by itself: say in `prompt` what to read",
    "audience": "`routes` says where an agent runs; leave this out",
}
_NO_USE = (
    "version", "terminal", "tags", "deprecated", "deprecated_reason",
    "reasoning_effort",
)  # fmt: skip
# Values that ask for what every agent has here: it is asked, by a session of Claude
# Code too, and works in its caller's folder.
_USUAL = {
    "isolation": ("none", INHERIT),
    "sources": ("claude",),
    "surfaces": ("spawn",),
}
# Providers of other programs. Any other unknown name may be a misspelt one of ours.
_PROVIDERS = frozenset({
    INHERIT, "codex", "cursor", "copilot", "droid", "gemini", "grok", "openai",
    "qwen", "windsurf",
})  # fmt: skip
_MODELS = ("gpt", "o1", "o3", "o4", "codex", "gemini", "grok", "qwen", "deepseek")
# What stands under `workflows` elsewhere, and is not a workflow.
_NO_WORKFLOW = {
    "rules": "the rules that bind an agent are in its `lifecycle_workflow`",
    "skill_selectors": "say in `prompt` what the agent should read",
    "variables": "write them into `default_variables`",
}
_SELECTORS = "rule_selectors"
_ALL_BIND = (
    "rules have no tags here: all of rules.yaml bind it; what others block goes there"
)
# By these an agent with steps is told from a workflow.
OF_AN_AGENT = frozenset({
    "instructions", "role", "goal", "personality", "provider", "model", "workflows",
    "isolation", "base_branch", "surfaces", "step_variables", "blocked_mcp_tools",
})  # fmt: skip


def read_foreign(tree: Tree) -> str | None:
    """Take foreign fields out of the tree's value, and say of each what it is here.

    Returns what the agent is told first; None for nothing.
    """
    value = tree.value
    if not isinstance(value, dict):
        return None
    is_moved = not _is_usual("isolation", value.get("isolation"))
    for name in _REFUSED.keys() & value.keys():
        # The branch would be that of a worktree, and there is none.
        is_idle = name == "base_branch" and not is_moved
        if is_idle or _is_usual(name, value[name]):
            tree.warn((name,), "changes nothing: every agent here is so")
        else:
            tree.error((name,), f"an agent has no {name} here: {_REFUSED[name]}")
    for name in _NO_USE:
        if name in value:
            tree.warn((name,), "means nothing here")
    if value.get("enabled") is True:
        tree.warn(("enabled",), "means nothing here: an agent that is there is on")
    elif "enabled" in value:
        way = "move the file elsewhere, or take this out to have it"
        tree.error(("enabled",), f"an agent cannot be switched off here: {way}")
    for name in (*_REFUSED, *_NO_USE, "enabled"):
        value.pop(name, None)
    _read_answerer(tree, value)
    _read_limits(tree, value)
    _read_blocked(tree, value)
    _refuse_workflows(tree, value.get("workflows"))
    return _persona(tree, value)


def _is_usual(name: str, given: Any) -> bool:
    usual = _USUAL.get(name, ())
    named = given if isinstance(given, list) else [given]
    return given is None or any(each in usual for each in named)


def _persona(tree: Tree, value: Json) -> str | None:
    """The text of the fields that tell an agent who it is: no template."""
    parts = []
    for name in PERSONA:
        given = value.pop(name, None)
        if given is None:
            continue
        if not isinstance(given, str):
            tree.error((name,), f"expected a string, got {describe(given)}")
        elif value.get("prompt") is not None:
            what = f"an agent has `prompt` or {name}: write it into `prompt`"
            tree.error((name,), what)
        else:
            parts.append(f"## {name.capitalize()}\n{given.strip()}")
    return "\n\n".join(parts) or None


def _read_answerer(tree: Tree, value: Json) -> None:
    """Who answers, and on which model: what we do not have is left to the route."""
    provider, model = value.get("provider"), value.get("model")
    if isinstance(provider, str) and provider in _PROVIDERS:
        if provider != INHERIT:
            what = "is no provider here: `routes` says who answers; by default all may"
            tree.warn(("provider",), f"{provider!r} {what}")
        del value["provider"]
    if isinstance(model, str) and not is_model(model) and model.startswith(_MODELS):
        what = "the model is that of the route which answers"
        tree.warn(("model",), f"{model!r} is no model here: {what}; {_models()}")
        del value["model"]
    if type(value.get("priority")) is int:
        what = "orders nothing here: `priority` is high, normal or low, of a request"
        tree.warn(("priority",), what)
        del value["priority"]


def _read_limits(tree: Tree, value: Json) -> None:
    """0 is how others write no limit; without a field the usual one counts."""
    for name in ("timeout", "max_turns"):
        if type(value.get(name)) in (int, float) and value[name] == 0:
            tree.warn((name,), "0 is no limit here: the usual one counts")
            del value[name]


def _models() -> str:
    return f"there are {', '.join(CLIENT_MODELS)}, GGUF files and openai:NAME"


def _read_blocked(tree: Tree, value: Json) -> None:
    """Read `blocked_mcp_tools` as `blocked_tools`: `server:tool`, or `server:*`."""
    given = value.pop("blocked_mcp_tools", None)
    if given is None:
        return
    place: Place = ("blocked_mcp_tools",)
    if not isinstance(given, list):
        tree.error(place, f"expected a list, got {describe(given)}")
        return
    found = []
    for position, each in enumerate(given):
        server, mark, tool = str(each).partition(":")
        if not isinstance(each, str) or not (server and mark and tool):
            what = f"expected server:tool, got {describe(each)}"
            tree.error((*place, position), what)
        elif is_own_server(server):
            tool = OURS.get(tool) or WITHIN.get(tool, tool)
            found.append(f"{OWN_SERVER}__{tool}")
        else:
            found.append(f"mcp__{server}__{tool}")
    if found:
        tree.warn(place, f"read as blocked_tools: [{', '.join(found)}]")
    blocked = value.get("blocked_tools") or []
    if isinstance(blocked, list):
        value["blocked_tools"] = [*blocked, *found]


def _refuse_workflows(tree: Tree, workflows: Any) -> None:
    if not isinstance(workflows, dict):
        return
    if _SELECTORS in workflows and not _is_workflow(workflows[_SELECTORS]):
        tree.warn(("workflows", _SELECTORS), _ALL_BIND)
        del workflows[_SELECTORS]
    for key, why in _NO_WORKFLOW.items():
        given = workflows.get(key)
        if key not in workflows or _is_workflow(given):
            continue
        if given and not _loads_none(key, given):
            tree.error(("workflows", key), f"this is no workflow; {why}")
        del workflows[key]


def _loads_none(key: str, given: Any) -> bool:
    is_selector = key == "skill_selectors" and isinstance(given, dict)
    return is_selector and given.get("include") == []


def _is_workflow(given: Any) -> bool:
    return isinstance(given, dict) and "file" in given
