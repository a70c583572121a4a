r"""What stands between a flow's quotes: text, references and parameters. Pure.

    {name}  {name.field}  {name?}     what an agent before gave; `?` in a loop
    {{name}}  {{name:default}}        a parameter of the flow
    $NAME                             a constant of the flow: `$NAME := "…"`
    \"  \\  \n  \t  \{  \}            these signs themselves

Every other brace, and every other backslash, is text: JSON and code stay as they are.
"""

from __future__ import annotations

import re
from itertools import groupby

from bridge.flow.lexer import NAME
from bridge.flow.syntax_tree import Parameter, Reference, Text

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
