"""The commands in the syntax tree of a shell's text, and what each reads. Pure.

The tree is walked without recursion: it may be as deep as the text is long.
"""

from __future__ import annotations

import re

from bridge.policy.bash_parser import UNKNOWN, text_of, word, written
from bridge.policy.shell_lexer import STRING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Protocol

    from bridge.policy.command_reading import Reading

    Node = Any

    class Reader(Protocol):
        """Takes what is found in a tree."""

        found: Reading
        bodies: dict[str, tuple[str, list[str]]]

        def text(
            self, text: str, *, stdin: Any, is_sure: bool, depth: int, origin: str = ""
        ) -> None:
            """Read what a shell reads."""

        def command(
            self, words: list[str], *, stdin: Any, is_sure: bool, depth: int
        ) -> None:
            """Note a program, and all that it starts in turn."""


_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
# They evaluate a name once more: `unset 'a[$(x)]'`.
_EVALUATING = frozenset({"declaration_command", "unset_command", "test_command"})
_SUBSCRIPT = re.compile(r"'[^'\[]*\[[^']*[$`]")
_READING = frozenset({"<", "<&", "<>"})
# Text that may hold backticks which the parser does not look for.
_TEXTS = frozenset({"word", "regex", "string_content"})
_BACKTICKS = re.compile(r"\\.|(`(?:[^`\\]|\\.)*`)", re.S)
_NAMES = re.compile(r"[^\s;|&()'\"$`]+")
# A function that starts what it is given: `run() { "$@"; }; run pytest`.
_CALLS_ITS_WORDS = re.compile(
    r"""(?:^|[;&|({\n]|\b(?:do|then|else|exec|command|eval|sudo|env|time)[ ])"""
    r"""\s*"?\$\{?[@*1-9]"""
)
# Functions may stand in one another, as deep as the text is long.
_MOST_OF_BODY = 2_000
_COMPOUNDS = frozenset({"pipeline", "list", "negated_command", "redirected_statement"})
_OTHER_INPUT = frozenset({"command_substitution", "process_substitution"})


class Walk:
    """Goes through one text's tree."""

    def __init__(self, reader: Reader, source: bytes, depth: int) -> None:
        self.reader = reader
        self.source = source
        self.depth = depth
        # The bodies of functions.
        self.functions: dict[str, list[Node]] = {}
        # Those that start what they are given.
        self.runners: set[str] = set()
        # Where the first of those stands that everything after it sees.
        self.hides_from: dict[str, int] = {}
        self.commands: list[tuple[list[str], int, Any]] = []
        # Then a function may be gone again.
        self.has_unset = False
        # Words of a command that stand after a redirection, by the command's node.
        self.after: dict[int, list[str]] = {}

    def all_of(self, root: Node, *, stdin: Any, is_sure: bool) -> None:
        """Read a text's commands, then the bodies of functions that they name."""
        self.walk(root, stdin)
        done: set[str] = set()
        is_certain = is_sure
        while self.commands:
            commands, self.commands = self.commands, []
            for words, at, given in commands:
                self.one(words, at, given, is_sure=is_certain)
            ran = {words[0] for words, _, _ in commands} & self.functions.keys()
            # Named but not called: by `trap`, `export -f`, another shell.
            said = {
                name
                for words, _, _ in commands
                for one in words[1:]
                for name in _NAMES.findall(one)
            }
            named = (ran | (said & self.functions.keys())) - done
            for name in sorted(named):
                is_certain = is_certain and name in ran
                for body in self.functions[name]:
                    self.walk(body, None)
            done |= named

    def one(self, words: list[str], at: int, stdin: Any, *, is_sure: bool) -> None:
        """A command of the text, which a function may hide."""
        if self.hides_from.get(words[0], at) < at and not self.has_unset:
            if words[0] in self.runners:
                self.reader.found.foreign.append((words[1:], written(words)))
            return
        is_sure = is_sure and words[0] not in self.functions
        self.reader.command(words, stdin=stdin, is_sure=is_sure, depth=self.depth)

    def walk(self, root: Node, stdin: Any) -> None:
        """Collect commands and functions, in the order of the text."""
        waiting = [(root, stdin, False)]
        while waiting:
            node, given, is_inner = waiting.pop()
            kind = node.type
            if kind == "function_definition":
                following = node.next_sibling
                is_inner = is_inner or (following is not None and following.type == "&")
                self.function(node, is_inner=is_inner)
                continue
            if kind == "command_substitution" and node.children[0].type == "`":
                self.backticks(text_of(node, self.source), node)
                continue
            self.note(node)
            inner = given
            if kind in {"command", "redirected_statement"}:
                inner = self.input_of(node, given)
            if kind == "command":
                self.simple(node, inner)
            elif kind == "redirected_statement":
                self.trailing(node, inner)
            is_inner = is_inner or kind not in {"program", "compound_statement"}
            inside = self.children_of(node, given, inner)
            waiting += [(child, its, is_inner) for child, its in reversed(inside)]

    def note(self, node: Node) -> None:
        """What a node says beside the commands inside it."""
        kind = node.type
        self.has_unset |= kind == "unset_command"
        if kind in _TEXTS:
            self.hidden(node)
        elif kind == "variable_assignment":
            value = word(node.children[-1], self.source)
            name = text_of(node.children[0], self.source)
            said = value.raw if UNKNOWN in value else value
            self.reader.found.assigned([f"{name}={said}"])
            self.reader.found.loose.append(value.raw)
        elif kind == "for_statement":
            words = node.children_by_field_name("value")
            self.reader.found.loose += [word(one, self.source).raw for one in words]
        elif kind in _EVALUATING:
            raw = word(node, self.source).raw
            if _SUBSCRIPT.search(raw):
                self.reader.found.opaque.append((raw, True, raw))
        elif kind == "expansion" and self.source.endswith(b"@P}", 0, node.end_byte):
            # As a prompt: commands in the value are run.
            self.reader.found.opaque.append(("", False, word(node, self.source).raw))
        elif kind == "heredoc_redirect":
            self.reader.found.problems.append("a here-document is not read right")
        elif kind == "file_redirect":
            for command in self.body_of(node)[1]:
                self.reader.text(
                    command, stdin=None, is_sure=True, depth=self.depth + 1
                )

    def children_of(self, node: Node, given: Any, inner: Any) -> list[tuple[Node, Any]]:
        """What to look at inside a node, each with its input.

        `given` is the node's own input, `inner` that of what it redirects.
        """
        found: list[tuple[Node, Any]] = []
        is_piped = False
        if node.type == "pipeline":
            # What it prints is the text of another one.
            self.reader.found.loose += [
                word(one, self.source).raw for one in node.children[:-1] if one.is_named
            ]
        for child in node.children:
            its = inner
            if node.type == "redirected_statement" and child.type in _REDIRECTS:
                its = given
            elif is_piped:
                its = UNKNOWN
            elif node.type in _OTHER_INPUT:
                its = UNKNOWN if node.children[0].type == ">(" else None
            is_piped = is_piped or child.type in {"|", "|&"}
            is_text = child.type in _TEXTS
            if child.child_count or is_text:
                found.append((child, its))
        return found

    def function(self, node: Node, *, is_inner: bool) -> None:
        """Note a definition, for those who call it."""
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is not None and body is not None:
            text = text_of(name, self.source)
            self.functions.setdefault(text, []).append(body)
            start = self.source[body.start_byte : body.start_byte + _MOST_OF_BODY]
            if _CALLS_ITS_WORDS.search(start.decode(errors="replace")):
                self.runners.add(text)
            if not is_inner:
                self.hides_from.setdefault(text, node.start_byte)

    def simple(self, node: Node, stdin: Any) -> None:
        """Note a command with its words."""
        found = [*self.words_of(node), *self.after.pop(node.id, ())]
        if found:
            self.has_unset |= "unset" in found
            self.commands.append((found, node.start_byte, stdin))

    def trailing(self, node: Node, stdin: Any) -> None:
        """`env >out pytest`: the parser counts pytest to the redirection."""
        command = node.children[0]
        found: list[str] = []
        for redirect in node.children:
            if redirect.type == "file_redirect":
                inside = _destinations(redirect)[1:]
                found += [word(one, self.source) for one in inside]
        while command.type in _COMPOUNDS and command.children:
            # `a | env >out pytest`: it is the last command's redirection.
            last = command.type != "redirected_statement"
            command = command.children[-1 if last else 0]
        if command.type == "command":
            self.after[command.id] = [*self.after.get(command.id, ()), *found]
        elif found and command.type in _REDIRECTS and "=" not in found[0]:
            # `<in >out pytest`: all of the command.
            self.commands.append((found, node.start_byte, stdin))
        elif found:
            self.reader.found.problems.append("words after a redirection")

    def words_of(self, node: Node) -> Iterator[str]:
        """The words of a command, without what stands in front of its name."""
        is_named = False
        for child in node.children:
            if child.type == "command_name":
                is_named = True
            elif not is_named or child.type in _REDIRECTS:
                continue
            yield word(child, self.source)

    def backticks(self, text: str, node: Node) -> None:
        """Between backticks a backslash hides another one."""
        hidden = r"\\([\\`$])"
        if node.parent is not None and node.parent.type == "string":
            hidden = r"\\([\\`$\"])"
        command = re.sub(hidden, r"\1", text[1:-1])
        self.reader.text(command, stdin=None, is_sure=True, depth=self.depth + 1)

    def hidden(self, node: Node) -> None:
        """Backticks in text that the parser leaves as text."""
        for found in _BACKTICKS.finditer(text_of(node, self.source)):
            if found[1]:
                self.backticks(found[1], node)

    def body_of(self, redirect: Node) -> tuple[str | None, list[str]]:
        """A here-document's text, and the commands that a shell runs to fill it in."""
        mark = [word(one, self.source) for one in _destinations(redirect)[:1]]
        if mark and mark[0].startswith(STRING):
            return mark[0][1:], []
        return self.reader.bodies.get(mark[0] if mark else "", (None, []))

    def input_of(self, node: Node, stdin: Any) -> Any:
        """What a command reads: a here-document's text, or UNKNOWN from a pipe."""
        for child in node.children:
            kinds = {one.type for one in child.children}
            if child.type != "file_redirect" or kinds.isdisjoint(_READING):
                continue
            if "process_substitution" in kinds:
                stdin = UNKNOWN
            else:
                stdin = self.body_of(child)[0]
        return stdin


def _destinations(redirect: Node) -> list[Node]:
    """What stands behind the sign of a redirection: a file, and perhaps more words."""
    inside = [one for one in redirect.children if one.is_named]
    return [one for one in inside if one.type != "file_descriptor"]
