"""The simple commands in a shell command, read once from left to right. Pure.

It knows quotes, comments, substitutions, here-documents and what ends a command. It
expands nothing: a name that a variable or a command makes up stays unknown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "su", "script"})
_KEYWORDS = frozenset(
    ("!", "{", "}", "if", "then", "elif", "else", "while", "until", "do", "time")
)  # fmt: skip
# They run the command that follows their options.
_STARTERS = frozenset(
    ("env", "sudo", "doas", "nohup", "command", "builtin", "exec", "xargs",
     "setsid", "nice", "ionice", "stdbuf", "timeout", "uv", "uvx", "pipx", "poetry")
)  # fmt: skip
_ASSIGNMENT = re.compile(r"\w+\+?=")
# What may stand between such a program and its command.
_BETWEEN = re.compile(r"\d[\d.]*[smhd]?|run|tool|--")
# An option that may take the next word as its value.
_WITH_VALUE = re.compile(r"--[^=]+|-\w*[CILPSgknopsu]")

_CODE = re.compile(
    r"""
    (?P<sum>\$?\(\([^()\n]*+\)\))
  | (?P<blank>[^\S\n]+) | (?P<comment>\#) | (?P<newline>\n)
  | (?P<open>\$\(|[<>]\(|\() | (?P<close>\)) | (?P<tick>`)
  | <<(?P<dash>-?)[^\S\n]*+(?P<here>(?:'[^'\n]*'|"[^"\n]*"|\\.|[^\s'"\\`;&|()<>])+)
  | (?P<redirect><<<|&?[<>]+[&|]?) | (?P<end>[;&|])
  | '(?P<single>[^']*)'? | (?P<quote>") | \\(?P<escaped>.?)
  | (?P<plain>[^\s'"\\`;&|()<>$]+|\$)
    """,
    re.X | re.S,
)
# In double quotes.
_TEXT = re.compile(
    r'(?P<quote>")|(?P<open>\$\()|(?P<tick>`)|\\(?P<escaped>.?)|(?P<plain>[^"\\`$]+|\$)',
    re.S,
)


class _Frame(NamedTuple):
    """What is being read, up to the sign that closes it."""

    closer: str
    words: list[str]
    # The parts of the word that has begun.
    word: list[str]


class _Here(NamedTuple):
    """A here-document that begins below this line."""

    mark: str
    has_tabs: bool
    is_expanded: bool


class Reader:
    """Reads one command; `texts` has the here-documents that a shell would read."""

    def __init__(self, text: str) -> None:
        self.texts: list[str] = []
        self._text = text.replace("\\\n", "")
        self._at = 0
        self._frames = [_Frame("", [], [])]
        self._here: list[_Here] = []
        self._feeds_shell = False
        self._drops = False

    def commands(self) -> Iterator[list[str]]:
        """The words of each simple command, from its program on."""
        while found := self._next():
            frame = self._frames[-1]
            self._at = found.end()
            kind = found.lastgroup or ""
            if kind in ("newline", "end", "close", "tick", "open"):
                yield from self._sign(kind, found[kind])
            elif kind == "quote":
                self._quote(frame)
            else:
                self._part(frame, kind, found)
        while self._frames:
            yield from self._end()
            self._frames.pop()

    def _next(self) -> re.Match[str] | None:
        is_text = self._frames[-1].closer == '"'
        return (_TEXT if is_text else _CODE).match(self._text, self._at)

    def _part(self, frame: _Frame, kind: str, found: re.Match[str]) -> None:
        if kind == "blank":
            self._end_word()
        elif kind == "comment" and not frame.word:
            newline = self._text.find("\n", self._at)
            self._at = len(self._text) if newline < 0 else newline
        elif kind == "redirect":
            self._end_word()
            self._drops = True
        elif kind == "here":
            self._end_word()
            mark = re.sub(r"['\"\\]", "", found[kind])
            self._here.append(_Here(mark, bool(found["dash"]), mark == found[kind]))
        else:
            frame.word.append(found[kind])

    def _sign(self, kind: str, sign: str) -> Iterator[list[str]]:
        frame = self._frames[-1]
        closes = frame.closer == {"close": ")", "tick": "`"}.get(kind)
        if closes:
            yield from self._end()
            self._frames.pop()
        elif kind in ("open", "tick"):
            # What a substitution gives is part of a word.
            frame.word.append("" if sign == "(" else "$")
            self._frames.append(_Frame(")" if kind == "open" else "`", [], []))
        else:
            yield from self._end()
        if kind == "newline":
            for here in self._here:
                self._skip(here)
            self._here, self._feeds_shell = [], False

    def _quote(self, frame: _Frame) -> None:
        if frame.closer == '"':
            self._frames.pop()
            self._frames[-1].word.append("".join(frame.word))
        else:
            self._frames.append(_Frame('"', [], []))

    def _skip(self, here: _Here) -> None:
        """Go past a here-document: data, but what a shell reads or expands in it."""
        start = self._at
        while self._at < len(self._text):
            before = self._at
            newline = self._text.find("\n", before)
            self._at = len(self._text) if newline < 0 else newline + 1
            line = self._text[before : self._at].removesuffix("\n")
            if (line.lstrip("\t") if here.has_tabs else line) == here.mark:
                break
        else:
            before = self._at
        body = self._text[start:before]
        if self._feeds_shell:
            self.texts.append(body)
        elif here.is_expanded:
            self.texts.append(body.replace('"', "").join('""'))

    def _end_word(self) -> None:
        frame = self._frames[-1]
        if not frame.word:
            return
        if not self._drops:
            frame.words.append("".join(frame.word))
        frame.word.clear()
        self._drops = False

    def _end(self) -> Iterator[list[str]]:
        """End the simple command."""
        self._end_word()
        self._drops = False
        words = _from_program(self._frames[-1].words)
        self._frames[-1].words.clear()
        if words:
            self._feeds_shell |= name_of(words[0]) in SHELLS
            yield words


def name_of(program: str) -> str:
    """The name of a program, without its folder."""
    return program.rpartition("/")[2]


def _from_program(words: list[str]) -> list[str]:
    """The words without assignments, keywords and programs that start others."""
    starts = may_be_value = False
    for at, word in enumerate(words):
        if word in _KEYWORDS or _ASSIGNMENT.match(word):
            continue
        if name_of(word) in _STARTERS:
            starts, may_be_value = True, False
        elif starts and word.startswith("-"):
            may_be_value = bool(_WITH_VALUE.fullmatch(word))
        elif (starts and _BETWEEN.fullmatch(word)) or (
            may_be_value and name_of(word) != "hostbridge"
        ):
            may_be_value = False
        else:
            return words[at:]
    return []
