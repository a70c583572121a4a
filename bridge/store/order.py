"""In which order waiting requests are taken: priority first, then the oldest.

Our own ids tell both, so ten thousand of them are ordered without opening a file. Ids
that somebody else chose are asked through `rank`, which reads the file.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from bridge.protocol.ids import PRIORITIES, Priority, RequestId, find_rank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Rank = tuple[Priority, int]


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
