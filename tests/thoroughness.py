"""How thoroughly a property or a fault is tried: `--full` leaves nothing out.

What is left out otherwise takes turns: the day of the last commit says what is due.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pygit2
import pytest
from hypothesis import settings

T = TypeVar("T")

PARTS = 10
_EXAMPLES = 30
_SHARE = 5
_DAY_S = 86_400


def is_full() -> bool:
    """Whether pytest runs with --full; tests/conftest.py loads the profile by it."""
    return settings.get_current_profile_name() == "full"


def examples(number: int) -> int:
    """How many examples of a property: `number`, or at most thirty without --full."""
    return number if is_full() else min(number, _EXAMPLES)


def rounds(number: int) -> int:
    """How many rounds of what chance decides: all, or a tenth without --full."""
    return number if is_full() else max(1, number // PARTS)


def sampled(points: Sequence[T]) -> Sequence[T]:
    """The points at which something breaks: all, or every fifth without --full."""
    return points if is_full() else points[due() % min(_SHARE, len(points)) :: _SHARE]


def crossed(first: Iterable[Any], second: Iterable[Any]) -> list[Any]:
    """The pairs of two lists of parameters, of which each run has those in a diagonal.

    Every parameter is in one of them; the others are marked `full`.
    """
    rows, columns = [*first], [*second]
    each_run = {
        (number % len(rows), number % len(columns))
        for number in range(max(len(rows), len(columns)))
    }
    return [
        pytest.param(row, column, marks=() if (i, j) in each_run else pytest.mark.full)
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]


@cache
def due() -> int:
    """Which of the ten parts of the full set is due."""
    try:
        repository = pygit2.Repository(Path(__file__).parent)
        return repository.revparse_single("HEAD").commit_time // _DAY_S % PARTS
    except (pygit2.GitError, KeyError):
        return 0  # no checkout: an archive
