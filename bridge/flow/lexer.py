r"""The tokens of a flow, and what stands between its quotes. Pure.

    DEFINE $name :=      OWN $name      NAME name     MARK @name    CALL @call:name
    TEXT "…"             SINGLE '…'     NUMBER 12     BLOCK @define-agents
    ARROW ->             TILDE ~>       BAR ||        END, and any other sign as itself

A hyphen belongs to a name only before a word character: `a->b` is a, an arrow, and b.
What a sign means, and whether it may stand there, is for the parser to say; only a
quote that is never closed shows here. Between quotes stand

    {name}  {name.field}  {name?}     what an agent before gave; `?` in a loop
    {{name}}  {{name:default}}        a parameter of the flow
    $NAME                             a constant of the flow: `$NAME := "…"`
    \"  \\  \n  \t  \{  \}            these signs themselves

Every other brace, and every other backslash, is text: JSON and code stay as they are.
What steps look like to those who come from other languages is named here, too.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from bridge.flow.syntax_tree import Parameter, Reference, Text

if TYPE_CHECKING:
    from collections.abc import Sequence

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


# How many characters the prompts of a flow may have.
MAX_SAID = 10_000_000
_ESCAPES = {"n": "\n", "t": "\t"}
_ESCAPED = re.compile(r'\\(?P<escaped>["\\nt{}])')
_PARAMETER = (
    rf"\s*+ (?P<parameter> {NAME} ) \s*+ (?: : (?P<default> (?:[^{{}}\\]|\\.)*+ ))?"
)
_REFERENCE = rf"(?P<name> {NAME} ) (?P<path> (?: \.[\w-]++ )*+ ) (?P<optional> \?? )"
_PART = re.compile(
    rf"{_ESCAPED.pattern} | \{{\{{ {_PARAMETER} \}}\}} | \{{ {_REFERENCE} \}}",
    re.X | re.S,
)
_NAMED = re.compile(rf"(?<!\\)\$({NAME})")


def parse_text(quoted: str, at: int = 0) -> Text:
    """The parts of a quoted text; `at` is where its opening quote stands."""
    source = quoted[1:].removesuffix('"') if len(quoted) > 1 else ""
    parts: list[str | Reference | Parameter] = []
    plain = ""
    end = 0
    for match in _PART.finditer(source):
        plain += source[end : match.start()]
        end = match.end()
        place = at + 1 + match.start()
        if match["escaped"]:
            plain += _sign(match)
            continue
        if plain:
            parts.append(plain)
            plain = ""
        if match["parameter"]:
            default = match["default"] and _ESCAPED.sub(_sign, match["default"])
            parts.append(Parameter(match["parameter"], default, place))
        else:
            path = tuple(match["path"].split(".")[1:])
            parts.append(Reference(match["name"], path, bool(match["optional"]), place))
    plain += source[end:]
    return (*parts, plain) if plain else tuple(parts)


class Constants(dict[str, Text]):
    """The texts of a flow that have a name, and how much they may still add to others.

    It is counted before it is added: each may have the one before it in it twice.
    """

    room = MAX_SAID

    def put_into(self, text: Text) -> Text:
        """A text with constants in place of their names: `$NAME`.

        Raises:
            OverflowError: with those before, it is more than a flow may say.
        """
        parts: list[str | Reference | Parameter] = []
        for part in text:
            pieces = _NAMED.split(part) if isinstance(part, str) else []
            # Plain text and names, in turn.
            for index, piece in enumerate(pieces):
                parts += self._named(piece) if index % 2 else (piece,)
            parts += () if pieces else (part,)
        joined: list[str | Reference | Parameter] = []
        for is_plain, group in groupby(parts, lambda part: isinstance(part, str)):
            some = [*group]
            joined += ["".join(map(str, some))] if is_plain else some
        return tuple(part for part in joined if part != "")

    def _named(self, name: str) -> Text:
        found = self.get(name, (f"${name}",))
        self.room -= length(found)
        if self.room < 0:
            raise OverflowError
        return found


def length(text: Text) -> int:
    """The characters of a text; a reference counts as one."""
    return sum(len(part) if isinstance(part, str) else 1 for part in text)


def _sign(match: re.Match[str]) -> str:
    sign = match["escaped"]
    return _ESCAPES.get(sign, sign)


_DEFINED = "an agent is defined like this: {own} := {{ … }}"
_OUTPUT = 'what a step says gets its name at the end: agent:"…":{name}'
_SAID = 'what it is asked stands behind a colon: {name}:"…"'
_COUNTED = "{name} takes no number; steps are tried again by retry(3) {{ … }}"
# The kinds of the tokens behind a name, and what to say of them; the first that fits.
_BEHIND: tuple[tuple[tuple[str, ...], str], ...] = (
    (("=", "{"), _DEFINED),
    (("=", "TEXT"), 'a text gets a name like this: {own} := "…"'),
    (("=", "NAME"), _OUTPUT),
    (("=", "OWN"), _OUTPUT),
    ((":", "{"), _DEFINED),
    ((":", "=", "{"), _DEFINED),
    ((":", "="), _OUTPUT),
    (("TEXT",), _SAID),
    (("(", "TEXT"), _SAID),
    (("(", "NUMBER", ")"), _COUNTED),
)
_BEHIND_MARK = (
    ((":", "="), "steps have no name; a flow of their own has one: @call:{own}"),
    *(each for each in _BEHIND if each[1] == _SAID),
)
NO_ELSE = "there is no else: ask for the opposite, (if !…)~>"
_SUSPECTS = frozenset({"=", "(", "TEXT"})
HINTS = {
    "=>": "; did you mean ->?",
    "|": "; did you mean ||?",
    "&": "; did you mean ||?",
    "&&": "; did you mean ||?",
    "{": "; a group stands in [ ]",
    "//": "; a comment begins with #",
    "/*": "; a comment begins with #",
    "--": "; a comment begins with #",
    "else": f"; {NO_ELSE}",
}


def mistake_at(tokens: Sequence[Token], index: int) -> str | None:
    """What is wrong with a step whose name stands here, as far as this can be told."""
    if tokens[index + 1].kind not in _SUSPECTS and not (
        tokens[index + 1].kind == ":" and tokens[index + 2].kind in ("=", "{")
    ):
        return None
    if tokens[index + 1].is_cut:
        return None
    behind = [token.kind for token in tokens[index + 1 : index + 4]]
    text = tokens[index].text
    is_mark = tokens[index].kind == "MARK"
    for kinds, message in _BEHIND_MARK if is_mark else _BEHIND:
        if behind[: len(kinds)] == [*kinds] and (text, message) != ("retry", _COUNTED):
            own = text.lstrip("$@ ")
            return message.format(name=text, own=own if is_mark else f"${own}")
    return None
