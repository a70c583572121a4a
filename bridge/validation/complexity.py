"""How much a change asks for, and which validators look at it: one table. Pure.

A change has the first complexity whose limits it keeps. So more of a change is never
less complex, and neither names nor texts of files can lower it: what is not known, or
was not read, fits the last row alone.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import NamedTuple

from bridge.change.change import Change
from bridge.validation.kinds import Kind, dangerous_words, kinds_of


class Complexity(StrEnum):
    """How much there is to look at, from the least to the most."""

    TRIVIAL = "trivial"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Row(NamedTuple):
    """The most that a change of one complexity may be, and who looks at it.

    `max_lines` are added and removed lines together.
    """

    complexity: Complexity
    max_files: float
    max_lines: float
    kinds: frozenset[Kind]
    validators: tuple[str, ...]


_PROSE: frozenset[Kind] = frozenset({"docs"})
_CODE: frozenset[Kind] = _PROSE | {"tests", "code"}
_PROJECT: frozenset[Kind] = _CODE | {"build"}
_ALL: frozenset[Kind] = _PROJECT | {"agents", "security", "unread"}
_SYNTAX, _LOGIC, _SECURITY, _INTEGRATION = BUILT_IN = (
    "validator-syntax", "validator-logic", "validator-security",
    "validator-integration",
)  # fmt: skip

TABLE = (
    Row(Complexity.TRIVIAL, 10, 200, _PROSE, (_LOGIC,)),
    Row(Complexity.LOW, 3, 60, _CODE, (_SYNTAX, _LOGIC)),
    Row(Complexity.MEDIUM, 12, 400, _PROJECT, (_SYNTAX, _LOGIC, _SECURITY)),
    Row(Complexity.HIGH, inf, inf, _ALL, BUILT_IN),
)
# What `validator-syntax` has a command for. Without such a file it has nothing to do.
PARSED = (".py", ".js", ".cjs", ".mjs", ".sh", ".bash", ".php")
_MAX_NAMED = 3


@dataclass(frozen=True, slots=True)
class Assessment:
    """What a change asks for.

    Attributes:
        complexity: how much it is.
        kinds: the kinds of change in it, in alphabetical order.
        reasons: why it is not less, in words.
        validators: the built-in ones that are to look at it, the quickest first.
        parsable: the files that `validator-syntax` can parse, for its task.
    """

    complexity: Complexity
    kinds: tuple[Kind, ...]
    reasons: tuple[str, ...]
    validators: tuple[str, ...]
    parsable: tuple[str, ...] = ()


def assess(change: Change) -> Assessment:
    """What a change asks for."""
    by_kind: dict[Kind, list[str]] = {}
    for file in change.files:
        for kind in kinds_of(file):
            by_kind.setdefault(kind, []).append(file.shown)
    if words := dangerous_words(change):
        by_kind.setdefault("security", []).extend(map(repr, words))
    if not change.is_whole:
        by_kind.setdefault("unread", []).append("not all of the change was read")
    files = len(change.files) + change.more_files
    counts = [
        inf if each is None else each
        for file in change.files
        for each in (file.added, file.removed)
    ]
    lines = sum(counts)
    position = next(
        place
        for place, row in enumerate(TABLE)
        if files <= row.max_files
        and lines <= row.max_lines
        and by_kind.keys() <= row.kinds
    )
    row = TABLE[position]
    parsable = _parsable(change)
    return Assessment(
        complexity=row.complexity,
        kinds=tuple(sorted(by_kind)),
        reasons=_reasons(TABLE[position - 1], files, lines, by_kind)
        if position
        else (),
        validators=tuple(
            each for each in row.validators if each != _SYNTAX or parsable
        ),
        parsable=parsable,
    )


def usual_for(complexity: Complexity) -> tuple[str, ...]:
    """The validators that look at a change of this complexity."""
    return next(row.validators for row in TABLE if row.complexity is complexity)


def _parsable(change: Change) -> tuple[str, ...]:
    return tuple(
        file.shown
        for file in change.files
        if not file.is_deleted and file.path.lower().endswith(PARSED)
    )


def _reasons(
    below: Row, files: int, lines: float, by_kind: dict[Kind, list[str]]
) -> tuple[str, ...]:
    """What the row below does not allow."""
    found = []
    if files > below.max_files:
        found.append(f"{files:,} files")
    if below.max_lines < lines < inf:
        found.append(f"{lines:,} lines")
    for kind in sorted(by_kind.keys() - below.kinds):
        shown = ", ".join(by_kind[kind][:_MAX_NAMED])
        more = len(by_kind[kind]) - _MAX_NAMED
        found.append(f"{kind}: {shown}{f' and {more} more' if more > 0 else ''}")
    return tuple(found)
