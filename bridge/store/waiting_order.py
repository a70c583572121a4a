"""The order in which waiting requests are taken: priority first, then the oldest.

Our own ids contain both, so ten thousand of them are ordered without opening a file.
For ids that somebody else chose, `rank` reads the file.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from math import inf

from bridge.protocol.ids import OURS, PRIORITIES, Priority, RequestId, find_rank
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
    # One pass, by `filter`: a loop in Python over ten thousand names takes longer.
    ours = [*filter(OURS.match, names)]
    if len(ours) == len(names):
        return _ours_in_order(ours)
    foreign = sorted(set(names).difference(ours))
    ranked = _ranked(_ours_in_order(ours), find_rank)
    merged = heapq.merge(ranked, sorted(_ranked(foreign, rank)))
    return (RequestId(name) for _, _, name in merged)


def _ours_in_order(names: list[str]) -> Iterator[RequestId]:
    oldest_first = sorted(names)
    for level in PRIORITIES:
        # The letter stands at the same place in each.
        yield from (RequestId(n) for n in oldest_first if n[12] == level[0])


def _ranked(
    names: Iterable[str], rank: Callable[[str], Rank | None]
) -> Iterator[tuple[int, int, str]]:
    for name in names:
        if found := rank(name):
            yield PRIORITIES.index(found[0]), found[1], name


class Ranks:
    """Priority and age of ids that somebody else chose, read from their files.

    Args:
        state: where they lie.
        most: how many files are read; any further id is left out.
        is_known: whether an id can be left out without being read.

    Attributes:
        is_cut: whether `most` was not enough.
        gone: how many were read and lay there no more, or were put aside.
    """

    def __init__(
        self,
        state: State,
        *,
        most: float = inf,
        is_known: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.is_cut = False
        self.gone = 0
        self._state = state
        self._left = most
        self._is_known = is_known

    def __call__(self, name: str) -> Rank | None:
        """As `in_order` asks it."""
        if self._is_known(name):
            return None
        if self._left <= 0:
            self.is_cut = True
            return None
        self._left -= 1
        request = self._state.find_waiting(name)
        if request is None:
            self.gone += name not in self._state.unread
            return None
        return request.priority, request.created_at * 1000


def waiting_in_order(state: State, ranks: Ranks | None = None) -> Iterator[RequestId]:
    """Ids of `requests/` in the order in which they should be claimed."""
    return in_order(state["requests"].names(), ranks or Ranks(state))
