"""Which variables a workflow's steps set, and whose they are then.

What tools' results set belongs to them, and so does what is counted up: a model that
may set it could end a loop that counts its attempts. The rest is the model's, unless
the file says otherwise in `owners`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bridge.workflows.actions import variables_in

if TYPE_CHECKING:
    from bridge.workflows.fields import StepFields


@dataclass(frozen=True, slots=True)
class Owners:
    """What is set: `known` by whomever, `chosen` those that are no model's."""

    known: frozenset[str]
    chosen: dict[str, str]

    def with_owner(self, name: str, owner: str) -> Owners:
        """The same, but for one variable that the file says the owner of."""
        others = {n: each for n, each in self.chosen.items() if n != name}
        given = {} if owner == "model" else {name: owner}
        return replace(self, chosen={**others, **given})


def set_in(steps: Iterable[StepFields]) -> Owners:
    """What the steps set, as they are written."""
    known: set[str] = set()
    tools: set[str] = set()
    for step in steps:
        handled = [*step.on_mcp_success, *step.on_mcp_error, *on_tool_of(step.on_tool)]
        moved = [
            action
            for each in step.transitions
            if isinstance(each, dict)
            for action in _listed(each.get("on_transition"))
        ]
        values, counted, results = variables_in([*step.on_enter, *step.on_exit, *moved])
        known |= values | counted | results
        tools |= counted | results
        for sets in variables_in(handled):
            known |= sets
            tools |= sets
    return Owners(frozenset(known), dict.fromkeys(sorted(tools), "tool"))


def on_tool_of(value: Any) -> list[Any]:
    """The actions of `on_tool`, whatever the tools."""
    entries = value.values() if isinstance(value, dict) else _listed(value)
    found: list[Any] = []
    for entry in entries:
        for each in _listed(entry):
            if not isinstance(each, dict):
                continue
            kinds = ("set_variable", "increment_variable", "call_tool", "spawn_agent")
            found += [{kind: each[kind]} for kind in kinds if kind in each]
            found += _listed(each.get("do"))
            found += [each] if "action" in each else []
    return found


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
