"""Recognize files among the agents that are something else, and say where they belong.

Otherwise their authors would see only a list of unknown fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.agents.yaml_source import Tree

_RULE_FIELDS = (
    "on_after_tool", "on_before_tool", "on_session_start", "on_stop",
    "on_subagent_stop", "on_user_prompt",
)  # fmt: skip
# Fields of a step that acts by itself, which those of a step workflow do not.
_ACTIONS = {"id", "agent", "exec", "tool", "mcp", "wait", "approval", "pipeline"}


def check_kind(tree: Tree) -> bool:
    """Whether a file may be an agent; if not, the tree says what it is."""
    value = tree.value
    if not isinstance(value, dict):
        return True
    steps = value.get("steps")
    if rules := [field for field in _RULE_FIELDS if field in value]:
        field, kind = rules[0], "a rules file"
        place = "~/.hostbridge/rules.yaml or .bridge/rules.yaml"
    elif "prompt" not in value and isinstance(steps, (list, dict)):
        acts = [s for s in steps if isinstance(s, dict) and _ACTIONS & s.keys()]
        is_pipeline = value.get("type") == "pipeline" or acts
        field, kind = "steps", "a pipeline" if is_pipeline else "a workflow"
        place = "~/.hostbridge/workflows or .bridge/workflows"
    else:
        return True
    tree.error(
        (field,),
        f"this is {kind}, not an agent: it belongs in {place}, which this version does "
        "not run yet",
    )
    return False
