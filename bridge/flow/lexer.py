"""The tokens of a flow. Pure.

    DEFINE $name :=      OWN $name      NAME name     MARK @name    CALL @call:name
    TEXT "…"             SINGLE '…'     NUMBER 12     BLOCK @define-agents
    ARROW ->             TILDE ~>       BAR ||        END, and any other sign as itself

A hyphen belongs to a name only before a word character: `a->b` is a, an arrow, and b.
What a sign means, and whether it may stand there, is for the parser to say; only a
quote that is never closed shows here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bridge.flow.problems import Problems

NAME = r"[^\W\d]\w*+(?:-++\w++)*"
_TOKEN = re.compile(
    rf"""
    (?> \s++ | \#[^\n]*+ )*+
    (?:
        (?P<DEFINE> \${NAME} \s*+ := )
      | (?P<OWN> \${NAME} )
      | (?P<BLOCK> @define-agents\b )
      | (?P<CALL> @call \s*+ : \s*+ {NAME} )
      | (?P<MARK> @[ ]?+{NAME} )
      | (?P<NAME> {NAME} )
      | (?P<NUMBER> \d++ )
      | (?P<TEXT> "(?: [^"\\]++ | \\. )*+" )
      | (?P<SINGLE> '(?: [^'\\\n]++ | \\[^\n] )*+' )
      | (?P<ARROW> -> )
      | (?P<TILDE> ~> )
      | (?P<BAR> \|\| )
      | (?P<sign> . )
      | (?P<END> \Z )
    )
    """,
    re.X | re.S,
)
# What a text may not touch at its end: this one began inside another one.
_TOUCHING = re.compile(r"[\w\"$@]")
# Each look goes through the rest of the file: their number bounds the time.
_MAX_LOOKS = 20
# More than any flow needs, and few enough to be held.
_MAX_TOKENS = 500_000


class Token(NamedTuple):
    """A token; `text` is its source, from offset `at` to `end`.

    `is_cut`: a text that is never closed, and was taken to end with its line.
    """

    kind: str
    text: str
    at: int
    end: int
    is_cut: bool = False


def tokenize(source: str, problems: Problems, at: int = 0) -> list[Token]:
    """The tokens from an offset on, END the last; adds quotes never closed."""
    tokens: list[Token] = []
    looks = _MAX_LOOKS
    # Something always matches: a sign is any character, and END the end.
    while match := _TOKEN.match(source, at):
        kind = str(match.lastgroup)
        start, at = match.span(kind)
        text = match[kind]
        is_touching = kind == "TEXT" and _TOUCHING.match(source, at) and looks > 0
        if text == '"' or is_touching:
            looks -= 1
            if text == '"' or _began_inside(source, start, text):
                problems.add(start, 'this " is never closed')
                line_end = source.find("\n", start)
                at = len(source) if line_end < 0 or not looks else line_end
                tokens.append(Token("TEXT", source[start:at], start, at, is_cut=True))
                continue
        if len(tokens) == _MAX_TOKENS:
            problems.add(start, f"a flow has {_MAX_TOKENS:,} words and signs at most")
            kind, text, at = "END", "", len(source)
        tokens.append(Token(text if kind == "sign" else kind, text, start, at))
        if kind == "END":
            break
    return tokens


def _began_inside(source: str, start: int, text: str) -> bool:
    """Whether a text that touches the next word has lost its own closing quote."""
    return "\n" in text or source.count('"', start, source.find("\n", start)) % 2 == 1
