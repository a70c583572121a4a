"""The functions, classes and methods of a source, by their dotted names.

tree-sitter reads as much as it can of a file that is being edited: a syntax error hides
only the place it is in. Pure except for loading the grammar.

Source: tree-sitter-python and tree-sitter-javascript, `node-types.json`.
"""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bridge.errors import ExtraMissing

# Nobody asks for what is deeper, or has a longer name.
MAX_NESTED = 50
MAX_NAME_BYTES = 200

LANGUAGES: dict[str, str] = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
}

_CLASSES = frozenset({"class_definition", "class_declaration", "class"})
_FUNCTIONS = frozenset(
    {"function_definition", "function_declaration", "method_definition"}
    | {"generator_function_declaration"}
)
# Where a function or class gets its name: `const f = () => 1`, `m = class {}`.
_NAMED = {
    "variable_declarator": "name",
    "field_definition": "property",
    "pair": "key",
    "assignment_expression": "left",
}
_VALUES = frozenset(
    {"arrow_function", "function_expression", "generator_function", "class"}
)
# Nodes around a definition that belong to it.
_AROUND = frozenset(
    {"decorated_definition", "export_statement", "lexical_declaration"}
    | {"variable_declaration", "expression_statement"}
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A named piece: its dotted name, what it is, its first line (from 1).

    `start` and `end` are its place in the bytes of `source`, `column` is how far its
    first line is indented. Its text is only made on request: each piece also contains
    the text of those inside it.
    """

    name: str
    kind: str
    line: int
    source: bytes = field(repr=False)
    start: int
    end: int
    column: int

    @property
    def text(self) -> str:
        """Its text without the common indentation, from the start of its line."""
        begin = self.start - self.column
        if self.source[begin : self.start].strip():
            begin = self.start
        text = self.source[begin : self.end].decode("utf-8", "replace")
        return textwrap.dedent(text)


def outline(source: bytes, language: str) -> list[Piece]:
    """The pieces of a source in order; a piece comes before those inside it.

    Raises:
        ExtraMissing: tree-sitter or the grammar is not installed.
    """
    tree = _parser(language).parse(source)
    return list(_pieces(tree.root_node, source))


def _parser(language: str) -> Any:
    from importlib import import_module

    try:
        from tree_sitter import Language, Parser

        grammar = import_module(f"tree_sitter_{language}")
    except ImportError:
        raise ExtraMissing(
            "local", "tree-sitter", needed_for=f"reading {language}"
        ) from None
    return Parser(Language(grammar.language()))


def _pieces(root: Any, source: bytes) -> Iterator[Piece]:
    """Walk without recursion, and only downwards: a source may nest deeply.

    Each node carries what is known of those around it: the names, and the outermost one
    that belongs to a definition. Asking tree-sitter for a parent would walk down from
    the top again.
    """
    waiting = [_Place(root)]
    while waiting:
        here = waiting.pop()
        node = here.node
        names, inside = here.names, here.inside
        found = _named(node) if len(names) < MAX_NESTED else None
        if found is not None:
            label, kind = found
            names = (*names, label)
            kind = "method" if kind == "function" and inside == "class" else kind
            yield _piece(here.whole, ".".join(names), kind, source)
            inside = kind
        outermost = here.whole if _wraps(node) else None
        waiting += [
            _Place(child, outermost, names, inside)
            for child in reversed(node.named_children)
        ]


@dataclass(frozen=True, slots=True)
class _Place:
    """A node, and what is known of those around it.

    `outermost` is the outermost node that belongs to this one, if any; `names` are
    those of the pieces around it, `inside` is the kind of the innermost.
    """

    node: Any
    outermost: Any = None
    names: tuple[str, ...] = ()
    inside: str = ""

    @property
    def whole(self) -> Any:
        return self.node if self.outermost is None else self.outermost


def _named(node: Any) -> tuple[str, str] | None:
    """The name and kind of a definition; None for anything else."""
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
    if name is None or name.end_byte - name.start_byte > MAX_NAME_BYTES:
        return None
    return name.text.decode("utf-8", "replace"), kind


def _piece(whole: Any, name: str, kind: str, source: bytes) -> Piece:
    row, column = whole.start_point
    return Piece(name, kind, row + 1, source, whole.start_byte, whole.end_byte, column)


def _wraps(around: Any) -> bool:
    """Whether a node belongs to the only definition in it."""
    if around.type not in _AROUND:
        return False
    declared = [c for c in around.named_children if c.type == "variable_declarator"]
    return len(declared) <= 1
