"""Shell commands as a syntax tree, and the words in it. Pure but for loading a parser.

The parser is tree-sitter-bash. Hooks load it, so it is loaded without the two packages'
own `__init__`, which import more than the parser takes; nothing else is imported here.

A word is a str. What only a running shell knows (`$X`, `$(…)`) stands in it as UNKNOWN,
which no command can hold; `raw` is the word as it was written.
"""

from __future__ import annotations

import re
import sys

from bridge.policy.shell_lexer import SHOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Node = Any

UNKNOWN = "\0"
# How much of a word is kept as it was written.
MAX_RAW = 4_096
# An argument of a program has at most 128 KiB on Linux, and the client hands the whole
# command to a shell as one.
MAX_LENGTH = 128 * 1024
# At the end of half a pipeline it goes through all of it once more for each part, and
# does not ask whether to go on.
_MAX_PIPES = 4_000
_CHUNK = 8_192
# The parser asks the C library about each letter, and crashes at some that are not
# ASCII. No shell gives them a meaning: any other letter does in their place.
_PLAIN = bytes(range(128)) + b"," * 128

_EXPANSIONS = frozenset({
    "simple_expansion", "expansion", "command_substitution", "process_substitution",
    "arithmetic_expansion",
})  # fmt: skip
_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))",
    re.S,
)
_ANSI_LETTERS = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v",
}  # fmt: skip


class Unreadable(Exception):
    """A command cannot be read, for the reason that the message gives."""


class Word(str):
    """A word of a command, without its quotes."""

    __slots__ = ("place",)

    place: tuple[bytes, int, int]

    def __new__(cls, value: str, place: tuple[bytes, int, int]) -> Word:  # noqa: PYI034 - typing costs time
        """Make a word of its value, and of where it was written."""
        word = super().__new__(cls, value)
        word.place = place
        return word

    @property
    def raw(self) -> str:
        """As it was written: at most its beginning.

        Words stand in one another's expansions: all of each would be too much.
        """
        source, start, end = self.place
        return source[start : min(end, start + MAX_RAW)].decode("utf-8", "replace")


def raw_of(word: str) -> str:
    """A word as it was written, or its beginning."""
    return word.raw if isinstance(word, Word) else word


def written(words: Sequence[str]) -> str:
    """Words as they were written, in one line."""
    raw = " ".join(map(raw_of, words))
    for sign, shown in SHOWN:
        raw = sign.sub(shown, raw)
    return " ".join(raw.replace(UNKNOWN, "…").split())


class BashParser:
    """Parses commands, each within a time: there is text that takes a parser long.

    Args:
        clock: seconds that only go forward; `time.process_time` counts only the work
            of this process, so that a busy machine changes nothing.
        folders: where the parser's packages are, if not on `sys.path`.
        most_s: how long one command may take, with all that is inside it.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        folders: Sequence[str] | None = None,
        *,
        most_s: float = 1.0,
    ) -> None:
        self.clock = clock
        self.folders = folders
        self.most_s = most_s
        self.deadline = 0.0
        self._parser: Any = None

    def begin(self) -> None:
        """Start the time of a command."""
        self.deadline = self.clock() + self.most_s

    def parse(self, command: str, seen: str | None = None) -> tuple[Node, bytes]:
        """The tree of a command, and the bytes that its offsets count.

        `seen`, of the same length, is what the parser is given in its place.

        Raises:
            Unreadable: too long, too many pipes, a NUL, no parser, or no time left.
        """
        if len(command) > MAX_LENGTH:
            raise Unreadable(f"the command has more than {MAX_LENGTH} characters")
        if command.replace("||", "").count("|") > _MAX_PIPES:
            raise Unreadable(f"the command has more than {_MAX_PIPES} pipes")
        if "\0" in command:
            raise Unreadable("the command holds a NUL, which no shell takes")
        source = _encoded(command)
        plain = (source if seen is None else _encoded(seen)).translate(_PLAIN)

        # Only text that it fetches itself lets the parser ask whether to go on.
        def chunk(offset: int, _point: object) -> bytes:
            return plain[offset : offset + _CHUNK]

        def is_late(_offset: int, _has_error: bool) -> bool:  # noqa: FBT001
            return self.clock() > self.deadline

        parser = self._loaded()
        try:
            tree = parser.parse(chunk, progress_callback=is_late)
        except ValueError:
            tree = None
        if tree is None:
            # Or it would go on with this text when it gets the next.
            parser.reset()
            raise Unreadable("the command takes too long to parse")
        return tree.root_node, source

    def _loaded(self) -> Any:
        if self._parser is None:
            try:
                binding = _binding("tree_sitter", self.folders)
                bash = _binding("tree_sitter_bash", self.folders).language()
            except (ImportError, OSError) as error:
                raise Unreadable(f"no parser for shell commands: {error}") from None
            self._parser = binding.Parser(binding.Language(bash))
        return self._parser


def _encoded(command: str) -> bytes:
    # It takes a line that begins with a backslash for more of the line before.
    return re.sub(r"\n(?=\\)", "\n ", command).encode("utf-8", "surrogatepass")


def parser_folders() -> list[str]:
    """Where the parser's packages are: what `parse` needs where `sys.path` is bare."""
    from importlib.machinery import PathFinder

    specs = [PathFinder.find_spec(name) for name in ("tree_sitter", "tree_sitter_bash")]
    found = [
        re.split(r"[/\\](?=[^/\\]*$)", place)[0]
        for spec in specs
        if spec
        for place in spec.submodule_search_locations or ()
    ]
    return list(dict.fromkeys(found))


def _binding(package: str, folders: Sequence[str] | None) -> Any:
    """The compiled half of a package, without running the package's own module."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    name = f"{package}._binding"
    if name in sys.modules:
        return sys.modules[name]
    around = PathFinder.find_spec(package, None if folders is None else [*folders])
    if around is None or not around.submodule_search_locations:
        raise ImportError(f"{package} is not installed")
    spec = PathFinder.find_spec(name, [*around.submodule_search_locations])
    if spec is None or spec.loader is None:
        raise ImportError(f"{package} has no {name}")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    return module


def text_of(node: Node, source: bytes) -> str:
    """A node as it was written."""
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def word(node: Node, source: bytes) -> Word:
    """The word that a node is, without its quotes."""
    return Word(_value(node, source), (source, node.start_byte, node.end_byte))


def _value(node: Node, source: bytes) -> str:
    kind = node.type
    if kind in _EXPANSIONS:
        return UNKNOWN
    if kind == "string":
        return _quoted(node, source)
    raw = text_of(node, source)
    if kind == "raw_string":
        return raw[1:-1]
    if kind == "ansi_c_string":
        return _ANSI.sub(_ansi, raw[2:-1])
    if kind in {"concatenation", "command_name"}:
        return "".join([_value(child, source) for child in node.children])
    return re.sub(r"\\(.)", _escaped, raw, flags=re.S)


def _quoted(node: Node, source: bytes) -> str:
    """What is between double quotes."""
    parts: list[str] = []
    at, end = node.start_byte + 1, node.end_byte - 1
    for child in node.children:
        if child.type in _EXPANSIONS:
            parts += [_unquoted(source[at : child.start_byte]), UNKNOWN]
            at = child.end_byte
    return "".join([*parts, _unquoted(source[at:end])])


def _unquoted(text: bytes) -> str:
    return re.sub(r'\\([$`"\\\n])', _escaped, text.decode("utf-8", "replace"))


def _escaped(found: re.Match[str]) -> str:
    return "" if found[1] == "\n" else found[1]


def _ansi(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    number = int(code, 16) if code else int(found[4], 8) if found[4] else None
    if number is None:
        return _ANSI_LETTERS.get(found[5], found[5])
    # A NUL ends what bash takes; what it is here does not matter.
    return chr(number) if 0 < number <= sys.maxunicode else UNKNOWN
