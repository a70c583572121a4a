"""YAML of a definition, read strictly, with the line of every value.

A file is one document of mappings, lists, strings, numbers, booleans and null, as in
JSON (the core schema of YAML 1.2). Whatever YAML readers disagree about, or can do
harm, is an error: tags (`!!python/...` runs nothing; instead of `!!str` use quotes),
duplicate keys, merge keys, `yes` and `off`, a second document, deep nesting. Aliases
work, but their values count each time, so an alias bomb ends at `MAX_VALUES`.

Source: YAML 1.2.2, "10.3. Core Schema"; PyYAML's event parser does the syntax.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bridge.agents.diagnostic import Diagnostic, Place, aligned, nearest_line
from bridge.hints import quoted

MAX_VALUES = 20_000
MAX_DEPTH = 50

_TAG = "tag:yaml.org,2002:"
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "false": False}
_BOOL |= {
    word: value for w, value in _BOOL.items() for word in (w, w.title(), w.upper())
}
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?\Z"
)
_MAX_DIGITS = 18
_HALF = "half of a surrogate pair is not a character"
# Booleans in YAML 1.1, strings in YAML 1.2.
UNCLEAR = frozenset({"yes", "no", "on", "off"})

# What libyaml says, and what the cause of it mostly is.
_IN_PLAIN_WORDS = {
    "found character that cannot start any token": "no value begins like this; in "
    "front of it only spaces may stand, no tab",
    "mapping values are not allowed in this context": "': ' inside a text; put the "
    "text in quotes",
    "did not find expected key": 'no key begins here; is a " inside "…", or the line '
    "indented unlike those above?",
    "did not find expected '-' indicator": "this line is not indented like the items "
    "above it",
}


@dataclass(slots=True)
class Tree:
    """The content of a file: plain values, their lines, and the problems found.

    `lines` has the line of each value, `text_lines` the line on which the text of a
    string begins; both count from 1. `value` is None if the file could not be read.
    If `source` is kept, problems also have columns, and `spans` tells where in the
    source each scalar stands.
    """

    file: Path
    value: Any = None
    lines: dict[Place, int] = field(default_factory=dict)
    text_lines: dict[Place, int] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)
    source: str | None = None
    columns: dict[Place, int] = field(default_factory=dict)
    spans: dict[Place, tuple[int, int]] = field(default_factory=dict)

    def line_of(self, place: Place) -> int:
        """The line of a value, or of the nearest one around it."""
        return nearest_line(self.lines, place)

    def error(
        self,
        place: Place,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        """Add an error, at a place or where else it is."""
        if not line and self.source is not None:
            column = self._column_of(place)
        line = line or self.line_of(place)
        found = Diagnostic(self.file, line, place, message, column=column)
        self.problems.append(found)

    def warn(self, place: Place, message: str) -> None:
        """Add a warning: valid, but perhaps a mistake."""
        line = self.line_of(place)
        column = None if self.source is None else self._column_of(place)
        found = Diagnostic(self.file, line, place, message, "warning", column)
        self.problems.append(found)

    def error_in(self, place: Place, at: int, message: str) -> None:
        """Add an error about one character of a string: `at` counts in its value."""
        source = self.source or ""
        if place not in self.spans:
            self.error(place, message)
            return
        start, end = self.spans[place]
        index = start + aligned(source[start:end], str(self._value_at(place)), at)
        line = source.count("\n", 0, index) + 1
        column = index - (source.rfind("\n", 0, index) + 1)
        text = source.split("\n")[line - 1]
        found = Diagnostic(
            self.file, line, place, message, column=column + 1,
            quoted=quoted(text, column),
        )  # fmt: skip
        self.problems.append(found)

    def _column_of(self, place: Place) -> int:
        return nearest_line(self.columns, place)

    def _value_at(self, place: Place) -> Any:
        value = self.value
        for key in place:
            value = value[key]
        return value


class _TooMuch(Exception):
    """The file is too large or too deep for a definition."""


def read_tree(
    text: str,
    file: Path,
    *,
    first_line: int = 1,
    last_counts: bool = False,
    keeps_source: bool = False,
    may_be_empty: bool = False,
) -> Tree:
    """Read one document; problems are in the tree, never raised.

    `text` begins on line `first_line` of the file. Of a duplicate key the first counts,
    or the last with `last_counts`; it is an error either way. With `keeps_source`
    problems have columns, too. A file without a value is an error, or an empty mapping
    if it `may_be_empty`.
    """
    tree = Tree(file, source=text if keeps_source else None)
    reader = _Reader(tree, first_line, last_counts=last_counts)
    reader.may_be_empty = may_be_empty
    try:
        reader.read(_events(text))
        if may_be_empty and tree.value is None and not tree.problems:
            tree.value = {}
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        # A file that ends too early fails on the line after the last.
        at = mark.line if mark else 0
        line = first_line + min(at, text.count("\n"))
        is_inside = keeps_source and line == first_line + at
        column = mark.column + 1 if mark and is_inside else None
        what = getattr(exc, "problem", None) or getattr(exc, "reason", None) or exc
        tree.value = None
        what = _IN_PLAIN_WORDS.get(str(what), what)
        tree.error((), f"not YAML: {what}", line=line, column=column)
    except UnicodeEncodeError as exc:
        line = first_line + text.count("\n", 0, exc.start)
        tree.error((), _HALF, line=line)
    except _TooMuch as exc:
        tree.value = None
        tree.error((), str(exc), line=reader.line)
    return tree


def _events(text: str) -> Iterator[yaml.Event]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return iter(yaml.parse(text, Loader=loader))


class _Reader:
    """Builds the values of one document from its events."""

    def __init__(self, tree: Tree, first_line: int, *, last_counts: bool) -> None:
        self.tree = tree
        self.last_counts = last_counts
        self.first_line = first_line
        self.line = first_line
        self.count = 0
        self.may_be_empty = False
        # For each anchor its value and size, or None while it is being read.
        self.anchors: dict[str, tuple[Any, int] | None] = {}

    def read(self, events: Iterator[yaml.Event]) -> None:
        """Read the first document; a second one is an error."""
        self.events = events
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._at(event)
                    message = "a second document begins here; a file has one"
                    self.tree.error((), message, line=self.line)
                    return
                self.tree.value = self._value(next(events), (), 0)
        if not documents and not self.may_be_empty:
            self.tree.error((), "the file is empty")

    def _at(self, event: yaml.Event, place: Place | None = None) -> int:
        mark = event.start_mark
        self.line = self.first_line + (mark.line if mark else 0)
        if place is not None and mark and self.tree.source is not None:
            self.tree.columns.setdefault(place, mark.column + 1)
        return self.line

    def _spend(self, values: int) -> None:
        self.count += values
        if self.count > MAX_VALUES:
            raise _TooMuch(
                f"more than {MAX_VALUES:,} values, including those of aliases"
            )

    def _value(self, event: yaml.Event, place: Place, depth: int) -> Any:
        self.tree.lines.setdefault(place, self._at(event, place))
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, place)
        self._spend(1)
        if depth > MAX_DEPTH:
            raise _TooMuch(f"nested more than {MAX_DEPTH} levels deep")
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
            what = "contains itself" if anchor in self.anchors else "unknown"
            self.tree.error(place, f"alias *{anchor}: {what}")
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
            self._at(event, here)
            if key in found:
                first = self.tree.line_of(here)
                message = f"duplicate key; the first is on line {first}"
                self.tree.error(here, message, line=line)
            if self.last_counts or key not in found:
                self.tree.lines[here] = line
            value = self._value(next(self.events), here, depth + 1)
            if self.last_counts or key not in found:
                found[key] = value
        return found

    def _key(self, event: yaml.Event, place: Place, depth: int) -> str:
        """A key, as it is written: in JSON, all keys are strings."""
        if not isinstance(event, yaml.ScalarEvent):
            self.tree.error(place, "a key must be a plain word", line=self._at(event))
            self._value(event, (*place, "?"), depth + 1)
            return "?"
        self._spend(1)
        if event.value == "<<" and event.implicit[0]:
            message = "merge keys are not supported; write the fields out"
            self.tree.error(place, message, line=self.line)
        self._check_tag(event, place)
        return self._encodable(event.value, place)

    def _scalar(self, event: yaml.ScalarEvent, place: Place) -> Any:
        # The text of a block begins on the line below `|` or `>`.
        is_block = event.style in ("|", ">")
        self.tree.text_lines[place] = self.line + is_block
        if self.tree.source is not None and event.start_mark and event.end_mark:
            self.tree.spans[place] = event.start_mark.index, event.end_mark.index
        tag = self._check_tag(event, place)
        if event.style or tag == f"{_TAG}str":
            return self._encodable(event.value, place)
        return self._plain(event.value, place)

    def _plain(self, text: str, place: Place) -> Any:
        """The value of a scalar without quotes."""
        if text in _NULL:
            return None
        if text in _BOOL:
            return _BOOL[text]
        if text.lower() in UNCLEAR:
            message = f"{text}: quote it if it is text, or else write true or false"
            self.tree.error(place, message)
        elif _INT.match(text) and len(text) <= _MAX_DIGITS:
            return int(text)
        elif _INT.match(text):
            self.tree.error(place, f"the number has more than {_MAX_DIGITS} digits")
        elif _FLOAT.match(text):
            number = float(text)
            if abs(number) != float("inf"):
                return number
            self.tree.error(place, "the number is too large")
        return self._encodable(text, place)

    def _encodable(self, text: str, place: Place) -> str:
        """The text, if UTF-8 can encode it."""
        try:
            text.encode()
        except UnicodeEncodeError:
            self.tree.error(place, _HALF)
            return text.encode("utf-8", "replace").decode()
        return text

    def _check_tag(self, event: yaml.Event, place: Place) -> str | None:
        """The tag of a value, if any, which is an error."""
        tag: str | None = getattr(event, "tag", None)
        if tag is not None:
            name = tag.replace(_TAG, "!!", 1)
            self.tree.error(
                place, f"the tag {name!r} is not supported; write plain YAML"
            )
        return tag
