"""Files of other kinds, told by what they hold: rules, and variables alone. Pure.

Public collections keep rules beside agents and workflows, in the same folders. Each of
them is told once what it is, instead of a complaint about every field.
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
    """Rules or variables in a form that is not ours; None if the file has none."""
    if value.get("type") == "rule" or {"event", "effect"} <= value.keys():
        return OtherKind("type" if "type" in value else "event", "a rule", _FORM)
    for field in ("rules", "rule_definitions"):
        if field in value:
            return OtherKind(field, "a file of rules in another form", _FORM)
    for field in ("triggers", "observers"):
        if field in value:
            return OtherKind(field, "a lifecycle: rules in another form", _FORM)
    if {"variable", "value"} <= value.keys():
        way = f"write {value['variable']} under `variables` in {_WHERE}"
        return OtherKind("variable", "a variable alone", way)
    if "variables" in value and value.keys() <= {"variables", "tags", "description"}:
        way = f"put `variables` into {_WHERE}"
        return OtherKind("variables", "a file of variables", way)
    return None
