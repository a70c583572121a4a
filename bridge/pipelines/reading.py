"""One step that is read, and what its kind makes of it. Pure.

A reading knows one step's fields, and where each stands. What is wrong goes to the tree
of the file, at its place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bridge.agents.diagnostic import describe
from bridge.config import LONGEST_S
from bridge.hints import meant
from bridge.pipelines.expressions import Known
from bridge.protocol.durations import parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.agents.diagnostic import Place
    from bridge.flow.details import Detail, Template
    from bridge.flow.plan import Kind, Step
    from bridge.pipelines.expressions import ScopedExpressions
    from bridge.pipelines.pipeline import Surroundings


@dataclass(slots=True)
class Reading:
    """One step that is read.

    Attributes:
        raw: its fields, those of a tool of another server by their names here.
        places: where a field stands, if not below the step's own place.
        is_foreign: it is written as a tool of another server.
    """

    id: str
    raw: Mapping[str, Any]
    place: Place
    expressions: ScopedExpressions
    around: Surroundings
    allow: list[str]
    places: dict[str, Place] = field(default_factory=dict)
    is_foreign: bool = False

    def place_of(self, name: str) -> Place:
        """Where a field stands."""
        return self.places.get(name, (*self.place, name))

    def error(self, name: str, message: str) -> None:
        """Say that a field is wrong."""
        self.expressions.tree.error(self.place_of(name), message)

    def value(self, name: str) -> Template:
        """A field, compiled."""
        return self.expressions.value(self.place_of(name), self.raw[name])

    def seconds(self, name: str) -> Template:
        """A length of time, compiled: seconds, or a text such as 90s, 5m or 1h30m."""
        raw = self.raw[name]
        if isinstance(raw, str) and "${{" in raw:
            return self.value(name)
        found = parse_duration(raw.strip()) if isinstance(raw, str) else raw
        is_number = isinstance(found, (int, float)) and not isinstance(found, bool)
        if is_number and 0 < found <= LONGEST_S:  # type: ignore[operator]  # a number
            return found
        self.error(
            name, f"expected seconds, or a time such as 90s or 5m, got {describe(raw)}"
        )
        return None

    def given(self, wanted: Mapping[str, bool], name: str = "arguments") -> Template:
        """A mapping of arguments, compiled, after a look at their names."""
        raw = self.raw.get(name) or {}
        for each in raw:
            if each not in wanted:
                place = (*self.place_of(name), each)
                message = f"unknown argument{meant(each, wanted)}"
                self.expressions.tree.error(self.places.get(each, place), message)
        missing = [each for each, is_wanted in wanted.items() if is_wanted]
        is_known = raw.keys() <= wanted.keys()
        for each in missing:
            if each not in raw and is_known:
                where = name if name in self.raw else next(iter(self.raw))
                self.error(where, f"argument {each!r} is missing")
        pairs = [
            (
                key,
                self.expressions.value(
                    self.places.get(key, (*self.place_of(name), key)), one
                ),
            )
            for key, one in raw.items()
        ]
        return ["map", 0, *(part for pair in pairs for part in pair)]


@dataclass(slots=True)
class Made:
    """What a kind makes of its fields; `says` is a line about it."""

    kind: Kind
    says: str
    node: Step
    detail: Detail
    known: Known = field(default_factory=Known)
