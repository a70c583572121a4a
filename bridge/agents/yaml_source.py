"""YAML of a definition, read strictly, with the line of every value.

A file is one document of mappings, lists, strings, numbers, booleans and null, as in
JSON (the core schema of YAML 1.2). Whatever YAML readers disagree about, or can do
harm, is an error: tags (`!!python/...` runs nothing; instead of `!!str` use quotes),
duplicate keys, merge keys, `yes` and `off`, a second document, deep nesting. Aliases
work, but their values count each time, so an alias bomb ends at `MAX_VALUES`.

Source: YAML 1.2.2, "10.3. Core Schema"; PyYAML composes the nodes.
"""

import re
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
_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"
# Booleans in YAML 1.1, strings in YAML 1.2.
UNCLEAR = frozenset({"yes", "no", "on", "off"})

# What PyYAML says, and what the cause of it mostly is.
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
# What is YAML, and refused all the same.
_REFUSED = {
    "found undefined alias": "no value above has the name of this alias",
    "second occurrence": "a value above has the same &name",
    "but found another document": "a second document begins here; a file has one",
    "exceeded maximum nesting depth": _TOO_DEEP,
}


@dataclass(slots=True)
class Tree:
    """The content of a file: plain values, their lines, and the problems found.

    `lines` and `columns` say where each value, or its key, begins, and count from 1;
    `scalars` has the node of each value that is neither a mapping nor a list. `value`
    is None if the file could not be read. With `source`, problems also have columns.
    """

    file: Path
    value: Any = None
    lines: dict[Place, int] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)
    source: str | None = None
    columns: dict[Place, int] = field(default_factory=dict)
    scalars: dict[Place, yaml.ScalarNode] = field(default_factory=dict)

    def line_of(self, place: Place) -> int:
        """The line of a value, or of the nearest one around it."""
        return nearest_line(self.lines, place)

    def error(self, place: Place, message: str, *, line: int | None = None) -> None:
        """Add an error, at a place or on another line."""
        column = None if line else self._column_of(place)
        line = line or self.line_of(place)
        found = Diagnostic(self.file, line, place, message, column=column)
        self.problems.append(found)

    def warn(self, place: Place, message: str) -> None:
        """Add a warning: valid, but perhaps a mistake."""
        line, column = self.line_of(place), self._column_of(place)
        found = Diagnostic(self.file, line, place, message, "warning", column)
        self.problems.append(found)

    def error_on_line(self, place: Place, number: int, message: str) -> None:
        """Add an error about one line of a text; `number` counts from 1."""
        first = self.line_of(place)
        if (node := self.scalars.get(place)) is not None:
            # The text of a block begins on the line below `|` or `>`.
            first = node.start_mark.line + 1 + (node.style in ("|", ">"))
        line = first + number - 1
        self.error(place, message, line=None if line == self.line_of(place) else line)

    def error_in(self, place: Place, at: int, message: str) -> None:
        """Add an error about one character of a string: `at` counts in its value."""
        node = self.scalars.get(place)
        if node is None or self.source is None:
            self.error(place, message)
            return
        start, end = node.start_mark.index, node.end_mark.index
        index = start + aligned(self.source[start:end], node.value, at)
        line = self.source.count("\n", 0, index) + 1
        column = index - (self.source.rfind("\n", 0, index) + 1)
        text = self.source.split("\n")[line - 1]
        found = Diagnostic(
            self.file, line, place, message, column=column + 1,
            quoted=quoted(text, column),
        )  # fmt: skip
        self.problems.append(found)

    def _column_of(self, place: Place) -> int | None:
        return None if self.source is None else nearest_line(self.columns, place)


class _TooMuch(Exception):
    """The file is too large or too deep for a definition."""


def read_tree(
    text: str,
    file: Path,
    *,
    last_counts: bool = False,
    keeps_source: bool = False,
    may_be_empty: bool = False,
) -> Tree:
    """Read one document; problems are in the tree, never raised.

    Of a duplicate key the first counts, or the last with `last_counts`; it is an error
    either way. With `keeps_source` problems have columns, too. A file without a value
    is an error, or an empty mapping if it `may_be_empty`.
    """
    tree = Tree(file, source=text if keeps_source else None)
    reader = _Reader(tree, text, last_counts=last_counts)
    try:
        node = yaml.compose(text, Loader=_Loader)
        if node is not None:
            tree.value = reader.value(node, ())
        elif not may_be_empty:
            tree.error((), "the file is empty")
        if may_be_empty and tree.value is None and not tree.problems:
            tree.value = {}
    except yaml.YAMLError as exc:
        tree.problems.append(_not_yaml(exc, tree, text))
    except UnicodeEncodeError as exc:
        tree.error((), _HALF, line=1 + text.count("\n", 0, exc.start))
    except RecursionError:
        # Only PyYAML without libyaml reads so deep.
        tree.error((), _TOO_DEEP)
    except _TooMuch as exc:
        tree.error((), str(exc), line=reader.line)
    return tree


def _not_yaml(exc: yaml.YAMLError, tree: Tree, text: str) -> Diagnostic:
    mark = getattr(exc, "problem_mark", None)
    line, column = (mark.line, mark.column + 1) if mark else (0, None)
    # A file that ends too early fails on the line after the last.
    last = text.count("\n")
    if tree.source is None or line > last:
        column = None
    what = str(getattr(exc, "problem", None) or getattr(exc, "reason", None) or exc)
    message = _REFUSED.get(what) or f"not YAML: {_IN_PLAIN_WORDS.get(what, what)}"
    return Diagnostic(tree.file, min(line, last) + 1, (), message, column=column)


_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """Composes nodes; only those that are written with a tag have one."""

    def resolve(self, _kind: Any, _value: Any, _implicit: Any) -> None:
        """Leave what a plain text is to `_Reader`."""


class _Reader:
    """Turns the nodes of one document into values."""

    def __init__(self, tree: Tree, text: str, *, last_counts: bool) -> None:
        self.tree = tree
        self.text = text
        self.last_counts = last_counts
        self.line = 1
        self.count = 0

    def value(self, node: yaml.Node, place: Place) -> Any:
        """The value of a node; an alias is the node that it names.

        Raises:
            _TooMuch: there are too many values, or they are nested too deep.
        """
        self._enter(node, place)
        if len(place) > MAX_DEPTH:
            raise _TooMuch(_TOO_DEEP)
        tag = self._refuse_tag(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(each, (*place, i)) for i, each in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        return self._scalar(node, tag, place)

    def _scalar(self, node: Any, tag: str | None, place: Place) -> Any:
        self.tree.scalars[place] = node
        if node.style or tag == f"{_TAG}str":
            return self._encodable(node.value, place)
        return self._plain(node.value, place)

    def _enter(self, node: yaml.Node, place: Place) -> None:
        mark = node.start_mark
        self.line = mark.line + 1
        self.tree.lines.setdefault(place, self.line)
        self.tree.columns.setdefault(place, mark.column + 1)
        self.count += 1
        if self.count > MAX_VALUES:
            raise _TooMuch(
                f"more than {MAX_VALUES:,} values, including those of aliases"
            )

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, place)
            here = (*place, key)
            if key in found:
                first = self.tree.line_of(here)
                message = f"duplicate key; the first is on line {first}"
                self.tree.error(here, message, line=key_node.start_mark.line + 1)
                if not self.last_counts:
                    continue
                del self.tree.lines[here]
            self._enter(key_node, here)
            found[key] = self.value(value_node, here)
        return found

    def _key(self, node: yaml.Node, place: Place) -> str:
        """A key, as it is written: in JSON, all keys are strings."""
        line = node.start_mark.line + 1
        if not isinstance(node, yaml.ScalarNode):
            self.tree.error(place, "a key must be a plain word", line=line)
            return "?"
        if node.value == "<<" and not node.style:
            message = "merge keys are not supported; write the fields out"
            self.tree.error(place, message, line=line)
        self._refuse_tag(node, place)
        return self._encodable(node.value, place)

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

    def _refuse_tag(self, node: yaml.Node, place: Place) -> str | None:
        """The tag of a value, if any, which is an error."""
        tag: str | None = node.tag
        is_scalar = isinstance(node, yaml.ScalarNode)
        if is_scalar and self.text.startswith("!", node.start_mark.index):
            # libyaml keeps a `!` alone to itself.
            tag = tag or "!"
        if tag is not None:
            name = tag.replace(_TAG, "!!", 1)
            self.tree.error(
                place, f"the tag {name!r} is not supported; write plain YAML"
            )
        return tag
