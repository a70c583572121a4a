"""How a task is to be divided: read, and checked as a whole before anything is kept.

    {"subtasks": [{"title": "Write the parser"},
                  {"title": "Test it", "depends_on": [0], "priority": "high"}]}

A subtask depends on others by their position, from 0, by the `id` that the spec gives
them, or on a task that is there already: `"#42"`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bridge.agents.diagnostic import did_you_mean
from bridge.errors import InvalidRequest
from bridge.protocol.digest import sha256_of
from bridge.protocol.plain_json import dumps, loads
from bridge.protocol.wording import quoted, shortened
from bridge.tasks.circles import find_circle
from bridge.tasks.fields import checked_text, rank_of
from bridge.tasks.task import RANKS

MAX_SUBTASKS = 2_000
_NAMED = 10
_DIGITS = 9
# How others spell it, and how we do.
_SPELT = {"validation": "validation_criteria", "name": "id"}
_TEXTS = ("title", "description", "validation_criteria", "category")
_FIELDS = ("id", *_TEXTS, "priority", "depends_on")
_TASK = re.compile(r"#[0-9]{1,15}\Z")


class BadSpec(InvalidRequest):
    """A spec cannot be used; nothing was saved.

    Attributes:
        problems: each with its place.
    """

    code = "bad_expansion_spec"

    def __init__(self, problems: Sequence[str]) -> None:
        shown = "\n  ".join(problems[:_NAMED])
        more = len(problems) - _NAMED
        rest = f"\n  and {more} more" if more > 0 else ""
        super().__init__(f"the expansion spec cannot be used:\n  {shown}{rest}")
        self.problems = tuple(problems)


class Subtask(NamedTuple):
    """A task that is to be made.

    `depends_on` has positions in the spec, `waits_for` the numbers of tasks outside.
    """

    title: str
    description: str
    validation_criteria: str
    category: str
    priority: str
    depends_on: tuple[int, ...]
    waits_for: tuple[int, ...]


class Spec(NamedTuple):
    """A checked spec. Equal ones have the same digest, however they were written."""

    subtasks: tuple[Subtask, ...]

    @property
    def digest(self) -> str:
        """What stands for it."""
        return sha256_of(self.text.encode())

    @property
    def text(self) -> str:
        """As it is kept; `restored` has it back."""
        return dumps([tuple(each) for each in self.subtasks]).decode()

    @property
    def data(self) -> dict[str, Any]:
        """As it is shown: without what is empty."""
        return {"subtasks": [_data(each) for each in self.subtasks]}


def restored(text: str) -> Spec:
    """The spec whose `text` this is: it was checked."""
    return Spec(tuple(Subtask(*map(_hashable, row)) for row in loads(text)))


def read(value: object, *, check_outside: Callable[[int], str] = lambda _: "") -> Spec:
    """The spec that a JSON object is; all that is wrong with it is said at once.

    `check_outside` says what is wrong with waiting for a task of this number; nothing.

    Raises:
        BadSpec: it is no spec, or its subtasks would wait for one another in a circle.
    """
    fields = value if isinstance(value, dict) else {}
    found = fields.get("subtasks", fields.get("tasks"))
    if not isinstance(found, list) or not found:
        raise BadSpec([f"subtasks: expected a list of subtasks, got {quoted(found)}"])
    if len(found) > MAX_SUBTASKS:
        raise BadSpec([f"subtasks: {len(found):,}; at most {MAX_SUBTASKS:,}"])
    reader = _Reader(found, check_outside)
    for name in fields.keys() - {"subtasks", "tasks"}:
        reader.problems.append(_unknown(str(name), ["subtasks"], ""))
    if "subtasks" in fields and "tasks" in fields:
        reader.problems.append("tasks: the same as subtasks; give one of them")
    spec = Spec(tuple(reader.subtasks()))
    if not reader.problems:
        reader.problems += _circle(spec)
    if reader.problems:
        raise BadSpec(reader.problems)
    return spec


class _Reader:
    """Reads subtasks, and gathers what is wrong."""

    def __init__(self, found: list[Any], check_outside: Callable[[int], str]) -> None:
        self.problems: list[str] = []
        self._found = [self._spelt(n, each) for n, each in enumerate(found)]
        self._check_outside = check_outside
        self._ids = self._named()

    def subtasks(self) -> Iterator[Subtask]:
        for number, fields in enumerate(self._found):
            place = f"subtasks[{number}]"
            for name in fields.keys() - set(_FIELDS):
                self.problems.append(_unknown(name, _FIELDS, f"{place}."))
            texts = {name: self._text(place, fields, name) for name in _TEXTS}
            inside, outside = self._depends_on(number, fields.get("depends_on"))
            yield Subtask(
                **texts,
                priority=self._priority(place, fields.get("priority")),
                depends_on=inside,
                waits_for=outside,
            )

    def _spelt(self, number: int, value: Any) -> Mapping[str, Any]:
        """The fields that are given, in our spelling."""
        place = f"subtasks[{number}]"
        if isinstance(value, str):
            # A title is enough.
            return {"title": value}
        if not isinstance(value, dict):
            self.problems.append(f"{place}: expected an object, got {quoted(value)}")
            return {"title": "?"}
        for theirs, ours in _SPELT.items():
            if theirs in value and ours in value:
                self.problems.append(f"{place}.{theirs}: the same as {ours}; give one")
        named = {_SPELT.get(str(n), str(n)): each for n, each in value.items()}
        return {name: each for name, each in named.items() if each is not None}

    def _named(self) -> dict[str, int]:
        known: dict[str, int] = {}
        for number, fields in enumerate(self._found):
            if (name := fields.get("id")) is None:
                continue
            place = f"subtasks[{number}].id"
            if not isinstance(name, str | int) or isinstance(name, bool):
                self.problems.append(f"{place}: expected text, got {quoted(name)}")
            elif str(name) in known:
                first = known[str(name)]
                self.problems.append(f"{place}: {quoted(name)} is subtasks[{first}]'s")
            else:
                known[str(name)] = number
        return known

    def _text(self, place: str, fields: Mapping[str, Any], name: str) -> str:
        try:
            return checked_text(name, fields.get(name, ""))
        except InvalidRequest as exc:
            self.problems.append(f"{place}.{exc.what}")
            return ""

    def _priority(self, place: str, value: object) -> str:
        try:
            return str(RANKS[rank_of("normal" if value is None else value) - 1])
        except InvalidRequest as exc:
            self.problems.append(f"{place}.{exc.what}")
            return ""

    def _depends_on(
        self, number: int, value: Any
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        given = [] if value is None else value if isinstance(value, list) else [value]
        inside: set[int] = set()
        outside: set[int] = set()
        for position, ref in enumerate(given):
            place = f"subtasks[{number}].depends_on[{position}]"
            if isinstance(ref, str) and _TASK.match(ref) and ref not in self._ids:
                if problem := self._check_outside(int(ref[1:])):
                    self.problems.append(f"{place}: {problem}")
                outside.add(int(ref[1:]))
            elif (found := self._position(ref)) is not None:
                inside.add(found)
            else:
                self.problems.append(f"{place}: {self._nowhere(ref)}")
        return tuple(sorted(inside)), tuple(sorted(outside))

    def _position(self, ref: object) -> int | None:
        if isinstance(ref, bool) or not isinstance(ref, str | int):
            return None
        if str(ref) in self._ids:
            return self._ids[str(ref)]
        if isinstance(ref, str):
            ref = int(ref) if ref.isdecimal() and len(ref) <= _DIGITS else -1
        return ref if 0 <= ref < len(self._found) else None

    def _nowhere(self, ref: object) -> str:
        last = len(self._found) - 1
        near = did_you_mean(str(ref), self._ids) if isinstance(ref, str) else ""
        return (
            f"there is no subtask {quoted(ref)}{near}; expected a position from 0 to "
            f"{last}, an id of this spec, or a task such as #42"
        )


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _unknown(name: str, known: Sequence[str], place: str) -> str:
    near = did_you_mean(name, known) or f"; known: {', '.join(known)}"
    return f"{place}{shortened(name, 60)}: there is no such field{near}"


def _circle(spec: Spec) -> list[str]:
    """The first circle that is found, drawn."""
    before = {number: each.depends_on for number, each in enumerate(spec.subtasks)}
    found = find_circle(before)
    drawn = " → ".join(_said(spec, each) for each in found)
    return [f"subtasks[{found[0]}].depends_on: a circle: {drawn}"] if found else []


def _said(spec: Spec, number: int) -> str:
    return f"{number} ({shortened(spec.subtasks[number].title, 40)})"


def _data(subtask: Subtask) -> dict[str, Any]:
    fields = subtask._asdict()
    outside = [f"#{number}" for number in fields.pop("waits_for")]
    fields["depends_on"] = [*fields["depends_on"], *outside]
    return {name: value for name, value in fields.items() if value}
