"""What steps look like to those who come from other languages. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.flow.lexer import Token

_DEFINED = "an agent is defined like this: {own} := {{ … }}"
_NAMED = 'what a step says gets its name at the end: agent:"…":{name}'
_SAID = 'what it is asked stands behind a colon: {name}:"…"'
_COUNTED = "{name} takes no number; steps are tried again by retry(3) {{ … }}"
# The kinds of the tokens behind a name, and what to say of them; the first that fits.
_BEHIND: tuple[tuple[tuple[str, ...], str], ...] = (
    (("=", "{"), _DEFINED),
    (("=", "TEXT"), 'a text gets a name like this: {own} := "…"'),
    (("=", "NAME"), _NAMED),
    (("=", "OWN"), _NAMED),
    ((":", "{"), _DEFINED),
    ((":", "=", "{"), _DEFINED),
    ((":", "="), _NAMED),
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
