"""The functions, classes and methods of a source, by their dotted names.

tree-sitter reads what it can of a file that is being written: a syntax error hides no
more than the place it is in. Pure but for loading the grammar.

Source: tree-sitter-python and tree-sitter-javascript, `node-types.json`.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Iterator

LANGUAGES: dict[str, str] = {
    ".py": "python",
    ".pyi": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascript",
}

_CLASSES = frozenset({"class_definition", "class_declaration", "class"})
_FUNCTIONS = frozenset(
    {"function_definition", "function_declaration", "method_definition"}
    | {"generator_function_declaration"}
)
# A name that is given to a function or a class: `const f = () => 1`, `m = class {}`.
_NAMED = {
    "variable_declarator": "name",
    "field_definition": "property",
    "pair": "key",
    "assignment_expression": "left",
}
_VALUES = frozenset(
    {"arrow_function", "function_expression", "generator_function", "class"}
)
# What belongs to a definition and stands around it.
_AROUND = frozenset(
    {"decorated_definition", "export_statement", "lexical_declaration"}
    | {"variable_declaration", "expression_statement"}
)


class MissingGrammar(BridgeError):
    """What reads source of this language is not installed."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A named piece: its dotted name, what it is, its first line (from 1), its text."""

    name: str
    kind: str
    line: int
    text: str


def outline(source: bytes, language: str) -> list[Piece]:
    """The pieces of a source in their order; a piece stands before what is in it.

    Raises:
        MissingGrammar: tree-sitter or the grammar is not installed.
    """
    tree = _parser(language).parse(source)
    return list(_pieces(tree.root_node, source))


def _parser(language: str) -> Any:
    from importlib import import_module

    try:
        from tree_sitter import Language, Parser

        grammar = import_module(f"tree_sitter_{language}")
    except ImportError:
        raise MissingGrammar(
            f"reading {language} takes tree-sitter, which is not installed; "
            "run `pip install 'hostbridge[local]'`"
        ) from None
    return Parser(Language(grammar.language()))


def _pieces(root: Any, source: bytes) -> Iterator[Piece]:
    """Walk without recursion: a source may nest as deeply as it likes."""
    waiting = [(root, "", "")]
    while waiting:
        node, place, inside = waiting.pop()
        found = _named(node)
        if found is not None:
            label, kind = found
            place = f"{place}.{label}" if place else label
            kind = "method" if kind == "function" and inside == "class" else kind
            yield _piece(node, place, kind, source)
            inside = kind
        waiting += [(child, place, inside) for child in reversed(node.named_children)]


def _named(node: Any) -> tuple[str, str] | None:
    """The name of a definition and what it is; None for anything else."""
    if node.type in _CLASSES or node.type in _FUNCTIONS:
        name = node.child_by_field_name("name")
        kind = "class" if node.type in _CLASSES else "function"
    elif node.type in _NAMED:
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        if value is None or value.type not in _VALUES:
            return None
        name = node.child_by_field_name(_NAMED[node.type])
        kind = "class" if value.type == "class" else "function"
    else:
        return None
    if name is None:
        return None
    return name.text.decode("utf-8", "replace"), kind


def _piece(node: Any, name: str, kind: str, source: bytes) -> Piece:
    whole = node
    while (around := whole.parent) is not None and _wraps(around):
        whole = around
    # From the start of its line: its own indentation is part of how it reads.
    begin = source.rfind(b"\n", 0, whole.start_byte) + 1
    if source[begin : whole.start_byte].strip():
        begin = whole.start_byte
    text = source[begin : whole.end_byte].decode("utf-8", "replace")
    return Piece(name, kind, whole.start_point[0] + 1, textwrap.dedent(text))


def _wraps(around: Any) -> bool:
    # The kind first: a module has as many children as the source has pieces.
    if around.type not in _AROUND:
        return False
    declared = [c for c in around.named_children if c.type == "variable_declarator"]
    return len(declared) <= 1
