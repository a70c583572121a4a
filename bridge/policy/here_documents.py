"""What a here-document holds, and the commands that a shell runs to fill it in. Pure.

The parser does not see every expansion in one, so they are looked for here.
"""

import re

from bridge.policy.bash_parser import UNKNOWN, Unreadable

_HERE = re.compile(
    r"""
    (?P<plain> [^\\$`]+ )
  | (?P<escaped> \\ [\\$`\n] )
  | (?P<opened> \$ \( )
  | (?P<ticks> ` (?: [^`\\] | \\. )* ` )
  | (?P<named> \$ (?: \{ | \w+ | [@*\#?$!-] ) )
    """,
    re.X | re.S,
)
_BRACKETS = re.compile(r"""\\. | '[^']*' | "(?:[^"\\]|\\.)*" | [(){}]""", re.X | re.S)


def here_document(text: str) -> tuple[str, list[str]]:
    """A here-document in which a shell expands: what it holds, and what it runs.

    Of `${…}` all but the sign stays.

    Raises:
        Unreadable: an expansion is not closed.
    """
    parts: list[str] = []
    commands: list[str] = []
    at = 0
    while at < len(text):
        found = _HERE.match(text, at)
        if found is None:
            # Text up to what may be an expansion.
            parts.append(text[at])
            at += 1
        elif found.lastgroup == "plain":
            parts.append(found[0])
            at = found.end()
        elif found.lastgroup == "escaped":
            parts.append("" if found[0] == "\\\n" else found[0][1])
            at = found.end()
        else:
            end = found.end()
            if found.lastgroup == "opened":
                end = _closing(text, found.end())
                commands.append(text[found.end() : end - 1])
            elif found.lastgroup == "ticks":
                commands.append(re.sub(r"\\([\\`$])", r"\1", found[0][1:-1]))
            parts.append(UNKNOWN)
            at = end
    return "".join(parts), commands


def _closing(text: str, at: int) -> int:
    """The index after what closes the bracket before `at`."""
    depth = 1
    for found in _BRACKETS.finditer(text, at):
        if found[0] in {"(", "{"}:
            depth += 1
        elif found[0] in {")", "}"}:
            depth -= 1
        if depth == 0:
            return found.end()
    raise Unreadable("an expansion in a here-document is not closed")
