"""The order in which waiting requests are taken: priority first, then the oldest.

Our own ids contain both, so ten thousand of them are ordered without opening a file.
For ids that somebody else chose, `rank` reads the file.
"""

from __future__ import annotations

import heapq
import re
from itertools import filterfalse
from math import inf
from typing import TYPE_CHECKING

from bridge.protocol.ids import OURS, PRIORITIES, Priority, RequestId, find_rank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bridge.store.state import State

Rank = tuple[Priority, int]

# How many files with foreign names are read to find out which comes first.
MAX_ASKED = 256


def in_order(
    names: Iterable[str], rank: Callable[[str], Rank | None]
) -> Iterator[RequestId]:
    """Yield ids in the order in which they should be claimed.

    `rank` tells priority and creation time (microseconds) of a foreign id, or None for
    one to leave out. It is asked in the order of the names, before the first is given.
    """
    names = list(names)
    # By `filter`: a loop in Python over ten thousand names takes longer than a claim.
    foreign = sorted(filterfalse(OURS.match, names))
    asked = _ranked_foreign(foreign, rank)
    merged = heapq.merge(_ranked_ours(names), asked)
    return (RequestId(name) for _, _, name in merged)


def _ranked_ours(names: list[str]) -> Iterator[tuple[int, int, str]]:
    for number, level in enumerate(PRIORITIES):
        is_of_level = re.compile(rf".{{11}}-{level[0]}-.{{6}}\Z").match
        ours = filter(OURS.match, filter(is_of_level, names))
        for name in sorted(ours):
            rank = find_rank(name)
            assert rank is not None, "the pattern of our own ids"  # noqa: S101
            yield number, rank[1], name


def _ranked_foreign(
    names: list[str], rank: Callable[[str], Rank | None]
) -> list[tuple[int, int, str]]:
    told = ((name, rank(name)) for name in names)
    return sorted((PRIORITIES.index(r[0]), r[1], name) for name, r in told if r)


class Ranks:
    """Priority and age of ids that somebody else chose, read from their files.

    Args:
        state: where they lie.
        most: how many files are read; any further id is left out.
        is_known: whether an id can be left out without being read.

    Attributes:
        is_cut: whether `most` was not enough.
        left_out: how many were not read, for whichever reason.
        gone: how many were read and lay there no more, or were put aside.
    """

    def __init__(
        self,
        state: State,
        *,
        most: float = inf,
        is_known: Callable[[str], object] = lambda _: False,
    ) -> None:
        self.is_cut = False
        self.left_out = self.gone = 0
        self._state = state
        self._left = most
        self._is_known = is_known

    def __call__(self, name: str) -> Rank | None:
        """As `in_order` asks it."""
        is_known = bool(self._is_known(name))
        if is_known or self._left <= 0:
            self.left_out += 1
            self.is_cut |= not is_known
            return None
        self._left -= 1
        request = self._state.waiting(name)
        if request is None:
            self.gone += name not in self._state.unread
            return None
        return request.priority, request.created_at * 1000


def waiting_in_order(state: State, ranks: Ranks | None = None) -> Iterator[RequestId]:
    """Ids of `requests/` in the order in which they should be claimed."""
    return in_order(state["requests"].names(), ranks or Ranks(state))
