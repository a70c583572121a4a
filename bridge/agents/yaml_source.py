"""YAML of a definition, read strictly, every value with the line it stands on.

A file is one document of mappings, lists, strings, numbers, booleans and null, as JSON
has them (the core schema of YAML 1.2). What YAML readers disagree about, or what can
hurt, is a problem and not a guess: tags (`!!python/...` runs nothing, and `!!str` says
what quotes say), duplicate keys, merge keys, `yes` and `off`, a second document, deep
nesting. Aliases are read, but what they stand for counts each time: an alias bomb ends
at `MAX_VALUES`.

Source: YAML 1.2.2, "10.3. Core Schema"; PyYAML's event parser does the syntax.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from bridge.agents.diagnostic import Diagnostic, Place, nearest_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_VALUES = 20_000
MAX_DEPTH = 50

_TAG = "tag:yaml.org,2002:"
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "false": False}
_BOOL |= {
    word: value for w, value in _BOOL.items() for word in (w, w.title(), w.upper())
}
# Booleans to a reader of YAML 1.1, words to one of 1.2.
_UNCLEAR = frozenset({"yes", "no", "on", "off"})
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?\Z"
)
_MAX_DIGITS = 18


@dataclass(slots=True)
class Tree:
    """What a file holds: plain values, and where each stands.

    `lines` are those of values, `text_lines` those on which the words of a string
    begin; both count from 1. `value` is None where the file could not be read at all.
    """

    file: Path
    value: Any = None
    lines: dict[Place, int] = field(default_factory=dict)
    text_lines: dict[Place, int] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)

    def line_of(self, place: Place) -> int:
        """The line of a value, or of the nearest one around it."""
        return nearest_line(self.lines, place)

    def complain(self, place: Place, message: str, *, line: int | None = None) -> None:
        """Note an error."""
        line = line or self.line_of(place)
        self.problems.append(Diagnostic(self.file, line, place, message))

    def warn(self, place: Place, message: str) -> None:
        """Note what may be meant, and may be a mistake."""
        line = self.line_of(place)
        self.problems.append(Diagnostic(self.file, line, place, message, "warning"))


class _TooMuch(Exception):
    """Reading on would take more than a definition is worth."""


def read_tree(
    text: str, file: Path, *, first_line: int = 1, last_counts: bool = False
) -> Tree:
    """Read one document; never raises for what is in it.

    `first_line` is the line of the file that `text` begins on. Of a key that stands
    twice the first counts, unless `last_counts`; it is a problem either way.
    """
    tree = Tree(file)
    reader = _Reader(tree, first_line, last_counts=last_counts)
    try:
        reader.read(_events(text))
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        # What ends too early is found on a line that is not there.
        line = first_line + min(mark.line if mark else 0, text.count("\n"))
        what = getattr(exc, "problem", None) or getattr(exc, "reason", None) or exc
        tree.value = None
        tree.complain((), f"not YAML: {what}", line=line)
    except _TooMuch as exc:
        tree.value = None
        tree.complain((), str(exc), line=reader.line)
    return tree


def _events(text: str) -> Iterator[yaml.Event]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return iter(yaml.parse(text, Loader=loader))


class _Reader:
    """Builds the values of one document out of its events."""

    def __init__(self, tree: Tree, first_line: int, *, last_counts: bool) -> None:
        self.tree = tree
        self.last_counts = last_counts
        self.first_line = first_line
        self.line = first_line
        self.count = 0
        # Of each anchor: its value, and how many values that is; None while it is read.
        self.anchors: dict[str, tuple[Any, int] | None] = {}

    def read(self, events: Iterator[yaml.Event]) -> None:
        """Read the first document, and complain of a second."""
        self.events = events
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._at(event)
                    message = "a second document begins here; one file is one agent"
                    self.tree.complain((), message, line=self.line)
                    return
                self.tree.value = self._value(next(events), (), 0)
        if not documents:
            self.tree.complain((), "the file is empty")

    def _at(self, event: yaml.Event) -> int:
        mark = event.start_mark
        self.line = self.first_line + (mark.line if mark else 0)
        return self.line

    def _spend(self, values: int) -> None:
        self.count += values
        if self.count > MAX_VALUES:
            raise _TooMuch(
                f"more than {MAX_VALUES:,} values, with what aliases stand for"
            )

    def _value(self, event: yaml.Event, place: Place, depth: int) -> Any:
        self.tree.lines.setdefault(place, self._at(event))
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, place)
        self._spend(1)
        if depth > MAX_DEPTH:
            raise _TooMuch(f"nested more than {MAX_DEPTH} deep")
        before = self.count
        anchor = getattr(event, "anchor", None)
        if anchor:
            self.anchors[anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event, place)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._check_tag(event, place)
            value = self._list(place, depth)
        else:
            self._check_tag(event, place)
            value = self._mapping(place, depth)
        if anchor:
            self.anchors[anchor] = value, self.count - before + 1
        return value

    def _alias(self, event: yaml.AliasEvent, place: Place) -> Any:
        anchor = str(event.anchor)
        known = self.anchors.get(anchor)
        if known is None:
            what = "stands within itself" if anchor in self.anchors else "unknown"
            self.tree.complain(place, f"alias *{anchor}: {what}")
            return None
        self._spend(known[1])
        return known[0]

    def _list(self, place: Place, depth: int) -> list[Any]:
        items: list[Any] = []
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._value(event, (*place, len(items)), depth + 1))
        return items

    def _mapping(self, place: Place, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            line = self._at(event)
            key = self._key(event, place, depth)
            here = (*place, key)
            if key in found:
                first = self.tree.line_of(here)
                message = f"stands twice; the first is on line {first}"
                self.tree.complain(here, message, line=line)
            if self.last_counts or key not in found:
                self.tree.lines[here] = line
            value = self._value(next(self.events), here, depth + 1)
            if self.last_counts or key not in found:
                found[key] = value
        return found

    def _key(self, event: yaml.Event, place: Place, depth: int) -> str:
        """A key, as it is written: JSON knows no other than strings."""
        if not isinstance(event, yaml.ScalarEvent):
            self.tree.complain(place, "expected a word as key", line=self._at(event))
            self._value(event, (*place, "?"), depth + 1)
            return "?"
        self._spend(1)
        if event.value == "<<" and event.implicit[0]:
            message = "merge keys are not read; write the fields out"
            self.tree.complain(place, message, line=self.line)
        self._check_tag(event, place)
        return self._whole(event.value, place)

    def _scalar(self, event: yaml.ScalarEvent, place: Place) -> Any:
        # The text of a block begins on the line below its sign.
        is_block = event.style in ("|", ">")
        self.tree.text_lines[place] = self.line + is_block
        tag = self._check_tag(event, place)
        if event.style or tag == f"{_TAG}str":
            return self._whole(event.value, place)
        return self._plain(event.value, place)

    def _plain(self, text: str, place: Place) -> Any:
        """What a scalar without quotes means."""
        if text in _NULL:
            return None
        if text in _BOOL:
            return _BOOL[text]
        if text.lower() in _UNCLEAR:
            message = f"{text}: write true or false, or put the word in quotes"
            self.tree.complain(place, message)
        elif _INT.match(text) and len(text) <= _MAX_DIGITS:
            return int(text)
        elif _INT.match(text):
            self.tree.complain(place, f"the number has more than {_MAX_DIGITS} digits")
        elif _FLOAT.match(text):
            number = float(text)
            if abs(number) != float("inf"):
                return number
            self.tree.complain(place, "the number is too large")
        return self._whole(text, place)

    def _whole(self, text: str, place: Place) -> str:
        """The text, when it has a form in UTF-8."""
        try:
            text.encode()
        except UnicodeEncodeError:
            self.tree.complain(place, "half of a surrogate pair is no character")
            return text.encode("utf-8", "replace").decode()
        return text

    def _check_tag(self, event: yaml.Event, place: Place) -> str | None:
        """The tag that stands before a value, if any, which is a problem."""
        tag: str | None = getattr(event, "tag", None)
        if tag is not None:
            name = tag.replace(_TAG, "!!", 1)
            self.tree.complain(place, f"the tag {name!r} is not read; write plain YAML")
        return tag
