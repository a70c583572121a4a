"""In which order waiting requests are taken: priority first, then the oldest.

Our own ids tell both, so ten thousand of them are ordered without opening a file. Ids
that somebody else chose are asked through `rank`, which reads the file.
"""

from __future__ import annotations

import heapq
from math import inf
from typing import TYPE_CHECKING

from bridge.protocol.ids import PRIORITIES, Priority, RequestId, find_rank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bridge.store.state import State

Rank = tuple[Priority, int]

# So many files of foreign names are read to find out which of them comes first.
MAX_ASKED = 256


def in_order(
    names: Iterable[str], rank: Callable[[str], Rank | None]
) -> Iterator[RequestId]:
    """Yield ids in the order in which they should be claimed.

    `rank` tells priority and creation time (microseconds) of a foreign id, or None for
    one to leave out. It is asked in the order of the names, before the first is given.
    """
    ours: dict[str, list[str]] = {"h": [], "n": [], "l": []}
    foreign: list[str] = []
    for name in names:
        # The shape alone, here; `find_rank` has the last word on the few that are
        # taken.
        if len(name) == 20 and name[11] == name[13] == "-" and name[12] in ours:  # noqa: PLR2004
            ours[name[12]].append(name)
        else:
            foreign.append(name)
    asked = _ranked_foreign(sorted(foreign), rank)
    merged = heapq.merge(_ranked_ours(ours, rank), asked)
    return (RequestId(name) for _, _, name in merged)


def _ranked_ours(
    ours: dict[str, list[str]], rank: Callable[[str], Rank | None]
) -> Iterator[tuple[int, int, str]]:
    for level in PRIORITIES:
        group = ours[level[0]]
        heapq.heapify(group)
        while group:
            name = heapq.heappop(group)
            told = find_rank(name) or rank(name)
            if told is not None:
                yield PRIORITIES.index(told[0]), told[1], name


def _ranked_foreign(
    names: list[str], rank: Callable[[str], Rank | None]
) -> list[tuple[int, int, str]]:
    told = ((name, rank(name)) for name in names)
    return sorted((PRIORITIES.index(r[0]), r[1], name) for name, r in told if r)


class Ranks:
    """Priority and age of ids that somebody else chose: their files tell.

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
