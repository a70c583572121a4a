"""Files that lie among agents and are something else: what they are, and where they go.

Told as a list of unknown fields, nobody would see it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridge.agents.yaml_source import Tree

_EVENTS = frozenset(
    {
        *("on_session_start", "on_user_prompt", "on_before_tool", "on_after_tool"),
        *("on_subagent_stop", "on_stop"),
    }
)
_LATER = "; this version runs none yet"


def complain_of_kind(tree: Tree) -> bool:
    """Complain of a file that is plainly no agent; whether it is none."""
    value = tree.value
    if not isinstance(value, dict):
        return False
    found = _kind(value)
    if found is None:
        return False
    field, what, place = found
    tree.complain((field,), f"this is {what}, not an agent: it belongs in {place}")
    return True


def _kind(value: dict[str, Any]) -> tuple[str, str, str] | None:
    """The field that tells, what the file is, and where such files lie."""
    events = sorted(_EVENTS & value.keys())
    if events:
        return (
            events[0],
            "a file of rules",
            f"~/.hostbridge/rules.yaml or .bridge/rules.yaml{_LATER}",
        )
    steps = value.get("steps")
    if "prompt" in value or not isinstance(steps, (list, dict)):
        return None
    of_kind = value.get("type")
    what = "a pipeline" if of_kind == "pipeline" or _has_calls(steps) else "a workflow"
    place = f"~/.hostbridge/workflows or .bridge/workflows{_LATER}"
    return "steps", what, place


def _has_calls(steps: Any) -> bool:
    """Whether the steps act by themselves, which those of a step workflow do not."""
    acts = {"id", "agent", "exec", "tool", "mcp", "wait", "approval", "pipeline"}
    return isinstance(steps, list) and any(
        isinstance(step, dict) and acts & step.keys() for step in steps
    )
