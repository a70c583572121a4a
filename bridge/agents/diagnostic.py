"""A problem in a definition: where it is, and what would be right. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bridge.hints import did_you_mean
from bridge.protocol.wording import shortened

if TYPE_CHECKING:
    from pathlib import Path


# The keys and positions that lead to a value from the top.
Place = tuple[str | int, ...]
Level = Literal["error", "warning"]
_KINDS = {dict: "a mapping", list: "a list", type(None): "nothing"}
_TYPES = {str: "a string", bool: "a boolean", int: "an integer", float: "a number"}


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem; `line` counts from 1, an empty `place` means the whole file.

    `column` counts from 1, too; `quoted` has the line itself and a caret. Both are only
    there where the file's kind has them.
    """

    file: Path
    line: int
    place: Place
    message: str
    level: Level = "error"
    column: int | None = None
    quoted: str = ""

    @property
    def path(self) -> str:
        """The place as people write it: `tools[1].parameters`."""
        return format_place(self.place)

    def __str__(self) -> str:
        """`file:line:[column:] [warning: ][path: ]message`."""
        path = f"{self.path}: " if self.place else ""
        mark = "warning: " if self.level == "warning" else ""
        where = f"{self.line}:{self.column}" if self.column else f"{self.line}"
        said = f"{self.file}:{where}: {mark}{path}{self.message}"
        return f"{said}\n{self.quoted}" if self.quoted else said


def nearest_line(lines: Mapping[Place, int], place: Place) -> int:
    """The line (or the column) of a value, or of the nearest one around it."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def format_place(place: Place) -> str:
    """Write a place: keys with dots, positions in brackets."""
    text = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in place)
    return text.removeprefix(".")


def did_you_mean_tool(name: str, known: Iterable[str]) -> str:
    """The same among tools with the same verb: for a `get_…` no `delete_…`."""
    verb = name.partition("_")[0]
    return did_you_mean(name, [each for each in known if each.startswith(verb[:4])])


def describe(value: object, limit: int = 40) -> str:
    """A value in a message: its type, and the beginning of its text."""
    if value == []:
        return "an empty list"
    if kind := _KINDS.get(type(value)):
        return kind
    text = shortened(repr(value), limit)
    return f"{_TYPES.get(type(value), type(value).__name__)} ({text})"


def aligned(raw: str, value: str, at: int) -> int:
    """Where a character of a scalar's value stands in the scalar as it is written.

    Blocks are indented, folded lines end in a space, quotes are doubled or escaped:
    every other character of the value stands there too, in the same order.
    """
    index = -1
    if raw[:1] in ("|", ">"):
        index = raw.find("\n")
    elif raw[:1] in ("'", '"'):
        index = 0
    for sign in value[: at + 1]:
        if not sign.isspace():
            found = raw.find(sign, index + 1)
            if found < 0:
                break
            index = found
    # A place after the last sign is the one behind it.
    return index + 1 if at >= len(value.rstrip()) else max(index, 0)
