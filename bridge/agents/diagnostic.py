"""What is wrong with a definition: where, and what would be right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

# Where a value stands: keys and positions from the top.
Place = tuple[str | int, ...]
Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem in one file; `line` counts from 1, `place` is empty for the file."""

    file: Path
    line: int
    place: Place
    message: str
    level: Level = "error"

    @property
    def path(self) -> str:
        """The place as people write it: `tools[1].parameters`."""
        return path_of(self.place)

    def __str__(self) -> str:
        """`file:line: path: message`, a warning marked as one."""
        path = f"{self.path}: " if self.place else ""
        mark = "warning: " if self.level == "warning" else ""
        return f"{self.file}:{self.line}: {mark}{path}{self.message}"


def line_near(lines: Mapping[Place, int], place: Place) -> int:
    """The line of a value, or of the nearest one around it."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def path_of(place: Place) -> str:
    """Write a place: keys with dots, positions in brackets."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def near(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?` where something known is near, else nothing."""
    from difflib import get_close_matches

    found = get_close_matches(word, sorted(known), n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""


def shown(value: object, limit: int = 40) -> str:
    """A value in a message: what kind it is, and the beginning of what it says."""
    kinds = {dict: "a mapping", list: "a list", type(None): "nothing"}
    kind = kinds.get(type(value))
    if kind:
        return kind
    text = repr(value)
    text = text if len(text) <= limit else text[:limit] + "…"
    return f"{_NAMES.get(type(value), type(value).__name__)} ({text})"


_NAMES = {str: "a string", bool: "a boolean", int: "an integer", float: "a number"}
