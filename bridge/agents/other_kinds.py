"""Rules in a file that should be an agent or a workflow. Pure.

Public collections keep rules beside agents and workflows, in the same folders. One
problem says what such a file is, instead of one for every field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

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
