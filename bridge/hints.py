"""Hints in messages: what a word was perhaps meant to be, and where a problem is. Pure.

`difflib` is imported late: hooks load this module, and find few words misspelt.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

# Of a long line, what is shown: so much before the place, and so much in all.
_BEFORE = 60
_WIDTH = 80


def close(
    word: str, known: Iterable[str], most: int = 1, *, cutoff: float = 0.6
) -> list[str]:
    """The known words that are similar, the most similar first."""
    from difflib import get_close_matches

    return get_close_matches(word, sorted(known), n=most, cutoff=cutoff)


def did_you_mean(
    word: str, known: Iterable[str], most: int = 2, *, cutoff: float = 0.6
) -> str:
    """`; did you mean …?` if a known word is similar, else nothing."""
    found = close(word, known, most, cutoff=cutoff)
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""


def meant(word: str, known: Collection[str], lead: str = "there are") -> str:
    """`; did you mean …?` if a known word is similar, else all of them."""
    return did_you_mean(word, known) or f"; {lead} {', '.join(known) or 'none'}"


def place(source: str, at: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1."""
    before = source[:at]
    return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1


def quoted(text: str, column: int) -> str:
    """A line and a caret below its character `column`, from 0."""
    start = max(0, column - _BEFORE)
    shown = text[start : start + _WIDTH].replace("\t", " ")
    return f"    {shown}\n    {' ' * (column - start)}^"
