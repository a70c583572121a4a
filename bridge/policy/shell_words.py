"""The words of a shell command, and the signs between them. Pure.

A word is a str. What only a running shell knows (`$X`, `$(…)`) stands in it as UNKNOWN,
which no command can hold; `raw` is the word as it was written.

Source: Bash reference manual, "Shell Syntax" and "Shell Expansions".
"""

from __future__ import annotations

import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

UNKNOWN = "\0"
# How much of a word is kept as it was written.
MAX_RAW = 4_096
# Names, as the parser sees it, of what begins a test or a group.
_SIGNS = frozenset({"[", "{", "}", "!"})
# In these nothing is a pattern.
CLOSED = re.compile(r"\$\{[^{}]*\}|'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.", re.S)
# An argument of a program has at most 128 KiB on Linux, and the client hands the whole
# command to a shell as one.
MAX_LENGTH = 128 * 1024


def _tokens(opens: str, others: str) -> re.Pattern[str]:
    """What there is in every text, and what else opens or means something in one."""
    return re.compile(
        rf"""
        (?P<opens> \$\(\( | \$\[ | \$\{{ | \$\( {opens} )
      | (?P<named> \$ (?: [A-Za-z_]\w* | [0-9@*\#?$!-] ) )
      | (?P<ticks> ` (?: [^`\\] | \\. )* ` )
      | {others} | (?P<other> . )
        """,
        re.X | re.S,
    )


_IN_WORDS = r"""
    (?P<escaped> \\. ) | (?P<single> '[^']*' ) | (?P<ansi> \$'(?:[^'\\]|\\.)*' )
"""
# What text is made of, by what it stands in: commands, double quotes, here-documents,
# the expansion of a parameter, arithmetic. In double quotes in which `${…}` stands, a
# single quote stands for itself.
TOKENS = {
    "(": _tokens(
        r"""| \$?" | [<>]\(""",
        rf"""
        (?P<plain> [^ \t\n\\'"`$()<>|&;\#]+ ) | (?P<blank> [ \t]+ )
      | (?P<joined> \\\n ) | (?P<newline> \n ) | {_IN_WORDS}
      | (?P<redirect> &>>? | <<< | <<-? | [<>]& | <> | >> | >\| | < | > )
      | (?P<operator> ;;& | ;; | ;& | && | \|\| | \|& | [;&|] )
      | (?P<opening> \( ) | (?P<closing> \) ) | (?P<comment> \#[^\n]* )
        """,
    ),
    '"': _tokens(
        "",
        r"""(?P<plain> [^\\"`$]+ ) | (?P<joined> \\\n ) | (?P<escaped> \\[$`"\\] )
          | (?P<end> " )""",
    ),
    "<<": _tokens(
        "", r"(?P<plain> [^\\`$]+ ) | (?P<joined> \\\n ) | (?P<escaped> \\[$`\\] )"
    ),
    "${": _tokens(
        r"""| \$?" | [<>]\(""",
        rf"""(?P<plain> [^\\'"`$}}<>]+ ) | {_IN_WORDS} | (?P<end> \}} )""",
    ),
    '${ in "': _tokens(
        '| "', r"""(?P<plain> [^\\"`$}]+ ) | (?P<escaped> \\. ) | (?P<end> \} )"""
    ),
    "((": _tokens(
        '| "',
        r"""(?P<plain> [^\\"`$()\]]+ ) | (?P<escaped> \\. )
          | (?P<sum_opening> \( ) | (?P<sum_end> [)\]] )""",
    ),
}
_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))",
    re.S,
)
_ANSI_LETTERS = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v",
}  # fmt: skip


class Word(str):
    """A word of a command, without its quotes."""

    __slots__ = ("place",)

    place: tuple[str, int, int]

    def __new__(cls, value: str, place: tuple[str, int, int]) -> Word:  # noqa: PYI034 - typing costs time
        """Make a word of its value, and of the text with its place in it."""
        word = super().__new__(cls, value)
        word.place = place
        return word

    @property
    def raw(self) -> str:
        """As it was written: at most its beginning.

        Words stand in one another's expansions: all of each would be too much.
        """
        text, start, end = self.place
        return text[start : min(end, start + MAX_RAW)]


def raw_of(word: str) -> str:
    """A word as it was written, or its beginning."""
    return word.raw if isinstance(word, Word) else word


def written(words: Sequence[str]) -> str:
    """Words as they were written, in one line."""
    return " ".join(" ".join(map(raw_of, words)).replace(UNKNOWN, "…").split())


def program(word: str) -> str | None:
    """The name of the program that a word starts; None if only the shell knows.

    `"$VENV/bin/pytest"` is pytest, wherever it is.
    """
    name = word.replace("\\", "/").rpartition("/")[2]
    if UNKNOWN in name or not name or word.startswith("/dev/fd/"):
        return None
    raw = raw_of(word)
    if len(raw) >= MAX_RAW:
        return None
    raw = CLOSED.sub("", raw)
    # A pattern, or braces: the shell puts something else there.
    return None if re.search(r"[*?\[{]", raw) and name not in _SIGNS else name


def _ansi(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    number = int(code, 16) if code else int(found[4], 8) if found[4] else None
    if number is None:
        return _ANSI_LETTERS.get(found[5], found[5])
    # A NUL ends what bash takes; what it is here does not matter.
    return chr(number) if 0 < number <= sys.maxunicode else UNKNOWN


# What a token adds to a word.
VALUES: dict[str, Callable[[str], str]] = {
    "plain": str,
    "escaped": lambda text: text[1:],
    "single": lambda text: text[1:-1],
    "ansi": lambda text: _ANSI.sub(_ansi, text[2:-1]),
    "named": lambda _: UNKNOWN,
}
