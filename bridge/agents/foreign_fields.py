"""Fields of other programs' agents: what each is here, or why it cannot be read.

One that would change what an agent is or may do is refused, with the way out; one that
means nothing here is a warning. None of them is told a second time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridge.agents.yaml_source import Tree

_IN_PROMPT = "write it into `prompt`"
_REFUSED = {
    "instructions": "what an agent is told is its `prompt`: write it there",
    "role": _IN_PROMPT,
    "goal": _IN_PROMPT,
    "personality": _IN_PROMPT,
    "blocked_mcp_tools": "write each into `blocked_tools`, as mcp__SERVER__TOOL",
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
# What stands under `workflows` elsewhere, and is none.
_NO_WORKFLOW = {
    "rules": "the rules that bind an agent are in its `lifecycle_workflow`",
    "rule_selectors": "the rules that bind an agent are in its `lifecycle_workflow`",
    "skill_selectors": "say in `prompt` what the agent should read",
    "variables": "write them into `default_variables`",
}
# By these an agent with steps is told from a workflow.
OF_AN_AGENT = frozenset({
    "instructions", "role", "goal", "personality", "provider", "model", "workflows",
    "isolation", "base_branch", "surfaces", "step_variables", "blocked_mcp_tools",
})  # fmt: skip
_OF_STEPS = ("steps", "step_variables", "exit_condition", "on_premature_stop")


def refuse_foreign(tree: Tree) -> None:
    """Say of each foreign field what to do, and take it out of the tree's value."""
    value = tree.value
    if not isinstance(value, dict):
        return
    for name in _REFUSED.keys() & value.keys():
        tree.error((name,), f"an agent has no {name} here: {_REFUSED[name]}")
    for name in _NO_USE:
        if name in value:
            tree.warn((name,), "means nothing here")
    if value.get("enabled") is True:
        tree.warn(("enabled",), "means nothing here: an agent that is there is on")
    elif "enabled" in value:
        way = "an agent that is there can be asked: move the file elsewhere"
        tree.error(("enabled",), f"an agent cannot be switched off here: {way}")
    for name in (*_REFUSED, *_NO_USE, "enabled"):
        value.pop(name, None)
    _refuse_workflows(tree, value.get("workflows"))
    _refuse_steps(tree, value)


def _refuse_workflows(tree: Tree, workflows: Any) -> None:
    if not isinstance(workflows, dict):
        return
    for key, why in _NO_WORKFLOW.items():
        given = workflows.get(key)
        if key in workflows and not (isinstance(given, dict) and "file" in given):
            message = f"this is no workflow; {why}"
            tree.error(("workflows", key), message)
            del workflows[key]


def _refuse_steps(tree: Tree, value: dict[str, Any]) -> None:
    there = [name for name in _OF_STEPS if name in value]
    if "steps" not in there:
        return
    name = value.get("name") if isinstance(value.get("name"), str) else "NAME"
    tree.error(
        ("steps",),
        f"an agent's steps have a file of their own: move {', '.join(there)} to "
        f"workflows/{name}.yaml beside this folder, and write workflow: {name}.yaml",
    )
    for each in there:
        del value[each]
