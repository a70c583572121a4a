"""Reads a shell's text once: its commands, what each is given, and what is unclear.

Pure. It goes through the text without recursion: expansions may stand in one another
as deep as the text is long. Only what stands between backticks, and in a here-document,
is a text of its own.
"""

from __future__ import annotations

import re

from bridge.policy.shell_grammar import (
    ASSIGNMENT,
    DESCRIPTOR,
    LOOPS,
    NO_END,
    OPENS,
    PIPES,
    SAME,
    SYNTAX,
    TEXTS,
    Commands,
    Here,
)
from bridge.policy.shell_words import MAX_RAW, UNKNOWN, VALUES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bridge.policy.shell_grammar import Found, Frame

_MARK = re.compile(
    r"""[ \t]*(?P<mark>(?:\\.|'[^']*'|"(?:[^"\\]|\\.)*"|[^\s;&|()<>'"\\])+)""", re.S
)
# Other quotes, and what a shell does not expand here.
_ODD_MARK = re.compile(r"\$['\"({\[]|`")
_EXPANSION = re.compile(r"\$[({\[]|`")
# A line, and one that may go on behind a backslash.
_LINE = re.compile(r"[^\n]*\n?")
_JOINED = re.compile(r"(?:[^\\\n]+|\\.)*\\?\n?", re.S)
_NO_NAME = re.compile(r"[ \t]*\([ \t]*\)")
_BRACKETS = frozenset({"$(", "a(", "x(", "pattern"})
# After these the next line is part of the command.
_JOINTS = PIPES | {"&&", "||"}
# In a test, the next line, too.
_GOING_ON = ("&&", "|", "(", "[[", "!")
_CASE_ENDS = frozenset({";;", ";&", ";;&"})
# What a shell makes other names of.
_EXPANDED = re.compile(r"[*?\[{~]")
_MAX_DEPTH = 8


class Scanner(Commands):
    """Reads one text."""

    def __init__(self, text: str, stdin: Any = None) -> None:
        super().__init__(text)
        self.open("", 0, self.commands).given = stdin
        self.scan(SYNTAX)
        for frame in self.groups:
            if frame.given is SAME and frame.around is not None:
                frame.given = frame.around.given

    def scan(self, unclosed: str) -> None:
        """Go through the text, token by token."""
        at = 0
        while at < len(self.text):
            token = self.frames[-1].tokens.match(self.text, at)
            assert token is not None  # noqa: S101 - one of them is any character
            kind = str(token.lastgroup)
            if kind in VALUES:
                self.add(VALUES[kind](token[0]), at)
                at = token.end()
            else:
                at = getattr(self, f"on_{kind}")(token) or token.end()
        self.end_command(at, "")
        if len(self.frames) > 1:
            self.problem(unclosed)
        while self.frames:
            self.end_command(at, "")
            self.close()

    def nested(
        self, text: str, at: int, owner: list[Found], tokens: str, unclosed: str
    ) -> str:
        """Read a text that stands in this one: its value."""
        if self.depth == _MAX_DEPTH:
            self.problem("too many shells inside one another")
            return UNKNOWN
        inner: Scanner = object.__new__(Scanner)
        inner.__dict__ |= self.__dict__
        inner.text, inner.depth, inner.frames = text, self.depth + 1, []
        inner.at = at if self.at is None else self.at
        frame = inner.open("", 0, owner, tokens)
        frame.given = None
        inner.scan(unclosed)
        return "".join(frame.parts)

    # Words

    def on_other(self, token: re.Match[str]) -> int | None:
        """A sign that stands for itself, or a quote that is never closed."""
        self.add(token[0], token.start())
        if token[0] not in "'`":
            return None
        self.problem(SYNTAX)
        return len(self.text)

    def on_opens(self, token: re.Match[str]) -> None:
        """The beginning of quotes, of an expansion, of commands in a word."""
        sign, at, outer = token[0], token.start(), self.frames[-1]
        self.add("" if sign[-1] == '"' else UNKNOWN, at)
        if sign[-1] == '"':
            self.open('"', at, tokens='"').parts = outer.parts
        elif sign == "${":
            self.open(sign, at, tokens='${ in "' if outer.kind == '"' else sign)
        elif sign in {"$((", "$["}:
            self.open(sign, at, tokens="((")
        else:
            self.open("$(", at).given = UNKNOWN if sign == ">(" else None

    def on_ticks(self, token: re.Match[str]) -> None:
        """Between backticks a backslash hides another one."""
        self.add(UNKNOWN, token.start())
        hidden = r"\\([\\`$\"])" if self.frames[-1].kind == '"' else r"\\([\\`$])"
        text = re.sub(hidden, r"\1", token[0][1:-1])
        self.nested(text, token.start(), self.frames[-1].owner, "(", SYNTAX)

    def on_end(self, token: re.Match[str]) -> None:
        """The end of quotes, or of the expansion of a parameter."""
        frame, end = self.close(), token.end()
        if self.text.startswith("@P}", end - 3):
            # As a prompt: commands in the value are run.
            raw = self.text[max(frame.at, end - MAX_RAW) : end]
            self.opaque.append(("", False, raw))

    def on_sum_end(self, token: re.Match[str]) -> int | None:
        """A bracket that closes in arithmetic."""
        frame = self.frames[-1]
        if token[0] == "]":
            if frame.kind == "$[":
                self.close()
        elif frame.level or frame.kind == "$[":
            frame.level -= 1
        else:
            self.close()
            if self.text.startswith("))", token.start()):
                return token.end() + 1
            # A shell in a shell, which bash tries to read as arithmetic first.
            self.problem("too many brackets inside one another")
        return None

    # Signs between words

    def on_blank(self, token: re.Match[str]) -> None:
        """Space between words."""
        self.end_word(token.start())

    def on_joined(self, _: re.Match[str]) -> None:
        """The end of a line, behind a backslash."""

    def on_comment(self, token: re.Match[str]) -> int | None:
        """A comment, or a sign in a word."""
        if self.frames[-1].word is None:
            return None
        self.add("#", token.start())
        return token.start() + 1

    def on_newline(self, token: re.Match[str]) -> int | None:
        """The end of a line, which ends most commands."""
        at = token.start()
        self.end_word(at)
        frame = self.frames[-1]
        if frame.kind == "x(" or (
            frame.kind in {"[[", "pattern"}
            and frame.words
            and not self.text[max(0, at - MAX_RAW) : at].rstrip().endswith(_GOING_ON)
        ):
            return self.broken(at)
        is_open = frame.is_empty and frame.before in _JOINTS
        if not (is_open or frame.defining):
            self.end_command(at, "\n")
        return self.take_bodies(frame.waiting, token.end()) if frame.waiting else None

    def broken(self, at: int) -> int:
        """Leave what is no syntax here: bash drops the line, and reads the next."""
        self.problem(SYNTAX)
        self.close()
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def on_operator(self, token: re.Match[str]) -> int | None:
        """A sign between commands."""
        sign, at = token[0], token.start()
        self.end_command(at, "" if sign in _CASE_ENDS else sign)
        kind = self.frames[-1].kind
        if kind == "a(":
            return self.broken(at)
        if sign in _CASE_ENDS and kind == "case":
            self.open("pattern", at)
        elif sign in _CASE_ENDS and kind not in TEXTS:
            self.problem(SYNTAX)
        return None

    def on_redirect(self, token: re.Match[str]) -> int | None:
        """The sign of a redirection."""
        frame, at = self.frames[-1], token.start()
        number = "" if frame.word is None else self.text[frame.word : at]
        if DESCRIPTOR.fullmatch(number):
            frame.parts, frame.word = [], None
        else:
            self.end_word(at)
            number = ""
        frame = self.frames[-1]
        if frame.kind in TEXTS:
            return self.broken(at) if frame.kind == "a(" else None
        frame.is_empty = False
        frame.is_stdin = not number.strip("0")
        if not token[0].startswith("<<") or token[0] == "<<<":
            frame.redirect = token[0]
            return None
        mark = _MARK.match(self.text, token.end())
        if mark is None:
            self.problem(SYNTAX)
            return None
        if _ODD_MARK.search(mark["mark"]):
            self.problem(SYNTAX)
        here = Here(token[0], mark["mark"], frame)
        frame.waiting.append(here)
        if frame.is_stdin:
            self.give(frame, here)
        return mark.end()

    def on_opening(self, token: re.Match[str]) -> int | None:
        """A bracket: of an array, a pattern, a function, of commands."""
        frame, at = self.frames[-1], token.start()
        raw = "" if frame.word is None else self.text[frame.word : at]
        is_array = ASSIGNMENT.fullmatch(raw)
        if is_array or (raw[-1:] in set("@!*?+") and raw != "!"):
            self.add(UNKNOWN, at)
            if not is_array and frame.kind not in TEXTS:
                # Only with `extglob`; another shell may run what is in it.
                self.problem(SYNTAX)
            self.open("a(" if is_array else "x(", at)
            return None
        if frame.kind in TEXTS:
            self.end_word(at)
            return None
        end = self.definition(frame, at)
        return self.open_bracket(at) if end is None else end

    def definition(self, frame: Frame, at: int) -> int | None:
        """Where `name()` ends; None if that is not what is here."""
        brackets = _NO_NAME.match(self.text, at)
        if brackets is None or frame.header or frame.redirect:
            return None
        if frame.defining is None:
            self.end_word(at)
            if len(frame.words) != 1:
                return None
            name = frame.words.pop()
            frame.defining = (str(name), name.place[1])
        return brackets.end()

    def open_bracket(self, at: int) -> int | None:
        """Begin arithmetic, or a shell in a shell."""
        self.end_word(at)
        frame = self.frames[-1]
        if self.text.startswith("((", at) and not frame.words:
            frame.is_empty = False
            self.open("((", at, tokens="((")
            return at + 2
        is_odd = bool(frame.words) or frame.header in {"case", "function", *LOOPS}
        if is_odd:
            self.problem(SYNTAX)
            self.end_command(at, "")
        group = self.open_group("(", at)
        if is_odd:
            # bash drops the line, and reads the next; another shell runs it.
            group.owner = self.doubtful
        return None

    def on_sum_opening(self, _: re.Match[str]) -> None:
        """A bracket that opens in arithmetic."""
        self.frames[-1].level += 1

    def on_closing(self, token: re.Match[str]) -> None:
        """The end of what a bracket opened."""
        self.end_command(token.start(), "")
        frame = self.frames[-1]
        while frame.kind in OPENS:
            self.problem(SYNTAX)
            self.close()
            frame = self.frames[-1]
        if frame.kind == "(":
            self.end_group(")")
        elif frame.kind in _BRACKETS:
            self.close()
        elif frame.kind != "[[":
            self.problem(SYNTAX)

    # Here-documents

    def take_bodies(self, waiting: list[Here], at: int) -> int:
        """Read the bodies of the here-documents that a line has begun."""
        for here in waiting:
            body: list[str] = []
            while at < len(self.text):
                line = (_LINE if here.is_quoted else _JOINED).match(self.text, at)
                assert line is not None  # noqa: S101 - both match anything
                at = line.end()
                plain = line[0].lstrip("\t") if here.has_tabs else line[0]
                if plain.removesuffix("\n") == here.end:
                    break
                body.append(plain)
            else:
                self.problem(NO_END)
            here.text = "".join(body)
            self.bodies.append(here.text)
            if not here.is_quoted:
                unclosed = "an expansion in a here-document is not closed"
                text = self.nested(here.text, at, here.owner, "<<", unclosed)
                if UNKNOWN in text and _EXPANSION.search(here.text):
                    # What it may stand for is in it: `$(echo pytest)`.
                    text += f"\n# {' '.join(here.text.split())}\n"
                here.text = text
            if not here.is_stdin:
                # It may be read by another name: `<&3`.
                self.loose.append(here.text)
        waiting.clear()
        return at


def files_written(command: str) -> list[str] | None:
    """The files that a command's redirections write; None if that is not known.

    Names are as a shell has them when it starts: it expands none here.
    """
    if ">" not in command:
        return []
    found = Scanner(command)
    is_known = not found.problems and not any(
        UNKNOWN in word or _EXPANDED.search(word.raw) for word in found.written
    )
    return [*map(str, found.written)] if is_known else None
