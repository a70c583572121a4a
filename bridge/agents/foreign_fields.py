"""What other programs' files mean here: fields of agents, and rules in their place.

The instructions of an agent and its blocked tools are read. Fields that only describe
it, or ask for what every agent has here, are ignored with a warning. All others stay
and are unknown fields, so nothing that binds an agent is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.agents.diagnostic import describe
from bridge.policy.tool_names import OURS, OWN_SERVER, WITHIN, is_own_server
from bridge.protocol.names import INHERIT, is_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.agents.diagnostic import Place
    from bridge.agents.yaml_source import Tree

    Json = dict[str, Any]

# The instructions before its task, in this order, each under its title.
PERSONA = ("role", "goal", "personality", "instructions")
# Providers of other programs. Any other unknown name may be a misspelt one of ours.
_PROVIDERS = (
    INHERIT, "codex", "cursor", "copilot", "droid", "gemini", "grok", "openai",
    "qwen", "windsurf",
)  # fmt: skip
_MODELS = ("gpt", "o1", "o3", "o4", "codex", "gemini", "grok", "qwen", "deepseek")
# A file with steps and one of these is an agent, not a workflow.
OF_AN_AGENT = frozenset({
    "instructions", "role", "goal", "personality", "provider", "model", "workflows",
    "isolation", "base_branch", "surfaces", "step_variables", "blocked_mcp_tools",
})  # fmt: skip


# A file that has one of these is a workflow, a pipeline or an agent, with rules in it.
_HAS_MORE = frozenset({
    "steps", "prompt", "instructions", "workflows", "model", "provider", "inputs",
})  # fmt: skip
_EVENTS = (
    "on_session_start", "on_user_prompt", "on_before_tool", "on_after_tool",
    "on_subagent_stop", "on_stop",
)  # fmt: skip
# Of rules in other programs' forms.
_FOREIGN = (
    "rules", "rule_definitions", "triggers", "observers", "event", "effect", "effects",
)  # fmt: skip
_WHERE = "~/.hostbridge/rules.yaml or .bridge/rules.yaml"
_FORM = (
    f"write each rule under its event, as on_before_tool, into {_WHERE}; "
    "`hostbridge rules new` writes one to begin with"
)


def _has(*wanted: str) -> Callable[[Any], bool]:
    """Whether a value is one of these, or a list with one of them."""
    return lambda given: any(
        each in wanted for each in (given if isinstance(given, list) else [given])
    )


def _always(_given: Any) -> bool:
    return True


def _is_no_limit(given: Any) -> bool:
    return type(given) in (int, float) and given == 0


def _is_anothers_model(given: Any) -> bool:
    return isinstance(given, str) and given.startswith(_MODELS) and not is_model(given)


# Fields that are ignored, where they have such a value.
_IGNORED: dict[str, Callable[[Any], bool]] = {
    "version": _always,
    "terminal": _always,
    "tags": _always,
    "deprecated": _always,
    "deprecated_reason": _always,
    "reasoning_effort": _always,
    # The branch of a worktree, of which an agent here has none.
    "base_branch": _always,
    "enabled": lambda given: given is True,
    "isolation": _has("none", INHERIT),
    "sources": _has("claude"),
    "surfaces": _has("spawn"),
    "provider": lambda given: isinstance(given, str) and given in _PROVIDERS,
    "model": _is_anothers_model,
    "priority": lambda given: type(given) is int,
    "timeout": _is_no_limit,
    "max_turns": _is_no_limit,
}
# What stands under `workflows` elsewhere, and is not a workflow.
_SELECTORS = ("rule_selectors", "skill_selectors")


def read_foreign(tree: Tree) -> str | None:
    """Take foreign fields out of the tree's value, and warn of those without effect.

    Returns its first instructions; None if it has none.
    """
    value = tree.value
    if not isinstance(value, dict):
        return None
    _ignore(tree, (), value, _IGNORED)
    if isinstance(workflows := value.get("workflows"), dict):
        _ignore(tree, ("workflows",), workflows, dict.fromkeys(_SELECTORS, _is_no_file))
        for key in ("rules", "variables"):
            if not workflows.get(key, True):
                del workflows[key]
    _read_blocked(tree, value)
    return _persona(tree, value)


def _is_no_file(given: Any) -> bool:
    return not (isinstance(given, dict) and "file" in given)


def _ignore(
    tree: Tree, at: Place, value: Json, fields: dict[str, Callable[[Any], bool]]
) -> None:
    for name, is_ignored in fields.items():
        if value.get(name) is not None and is_ignored(value[name]):
            given = value.pop(name)
            tree.warn((*at, name), f"{describe(given)} is not ours, ignored")


def _persona(tree: Tree, value: Json) -> str | None:
    """The text of the fields that describe its role; it is not a template."""
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


class OtherKind(NamedTuple):
    """What a file is instead, the field that shows it, and what to do with it."""

    field: str
    what: str
    way: str


def other_kind(value: Any) -> OtherKind | None:
    """What a file is that is neither a workflow nor an agent; None if it may be one."""
    if not isinstance(value, dict) or value.keys() & _HAS_MORE:
        return None
    for field in _EVENTS:
        if field in value:
            return OtherKind(field, "a rules file", f"it belongs in {_WHERE}")
    return foreign_rules(value)


def foreign_rules(value: Mapping[str, Any]) -> OtherKind | None:
    """Rules in a form that is not ours; None if the file has none."""
    what = "a file of rules in another form"
    found = (OtherKind(each, what, _FORM) for each in _FOREIGN if each in value)
    return next(found, None)
