"""Similar names, for one that nobody knows. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def close(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names that are similar, the most similar one first."""
    # Late, as hooks import this module.
    from difflib import get_close_matches

    return get_close_matches(name, sorted(known), n=most)


def did_you_mean(name: str, known: Iterable[str], most: int = 2) -> str:
    """`; did you mean …?` if a known name is similar, else nothing."""
    found = close(name, known, most)
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""
