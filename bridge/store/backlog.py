"""The order of a long queue, remembered from one claim to the next.

To list ten thousand names costs more than to claim four of them. So a claim that leaves
a long queue behind writes the next few hundred ids, in order, to `order.json`, with the
time of the last change of `requests/`. Whoever puts a request there under the lock puts
it into the list as well. Any other change, such as a file that another program drops
there, gives the folder another time, and the next claim lists again.

Nothing depends on it: a list that is wrong or missing costs time. A request dropped by
hand within microseconds of a change of ours may wait for the listed ones.
"""

from __future__ import annotations

import os
from bisect import bisect
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING

import orjson

from bridge.protocol.ids import PRIORITIES, RequestId, find_rank, is_id
from bridge.store.directory import NotAPlainFile
from bridge.store.queries import MAX_ASKED, Ranks, waiting_in_order
from bridge.store.untouched import Untouched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from bridge.protocol.request import Request
    from bridge.store.state import State

NAME = "order.json"
_REMEMBERED = 256
# With fewer to come, a listing is as cheap; so it is with more.
_WORTH_IT, _MOST = 32, 1024


class Backlog:
    """The waiting ids, in order; the lock is held.

    Args:
        state: where they lie.
        is_known: whether the claimer knows an id well enough to leave it out unread.
            Those that tell their place themselves are not left out.
    """

    def __init__(self, state: State, is_known: Callable[[str], object]) -> None:
        self._state = state
        self._ranks = Ranks(state, most=MAX_ASKED, is_known=is_known)
        ids, since_ns = _recall(state)
        self._is_recalled = bool(ids)
        self._is_mixed = False
        # Before the listing: what comes during it shows.
        self._untouched = Untouched(state["requests"].fd, since_ns)
        self._ids = iter(ids) if ids else waiting_in_order(state, self._ranks)

    @property
    def is_cut(self) -> bool:
        """Whether there are foreign ids that were not asked for their place."""
        return self._ranks.is_cut

    @property
    def gone(self) -> int:
        """How many foreign ids were asked and went away."""
        return self._ranks.gone

    def __iter__(self) -> Iterator[RequestId]:
        """Yield each id once; all of them, if one goes on that far."""
        seen = set()
        for request_id in self._ids:
            seen.add(request_id)
            yield request_id
        if self._is_recalled:
            self._is_recalled, self._is_mixed = False, True
            self._ids = waiting_in_order(self._state, self._ranks)
            yield from (found for found in self._ids if found not in seen)

    def removing(self) -> AbstractContextManager[None]:
        """Take a request out of `requests/` within the block."""
        return self._untouched.but_for_us()

    def remember(self, still_waiting: list[RequestId]) -> None:
        """Write down what comes next; `still_waiting` was yielded, and stays."""
        ids = [*still_waiting, *islice(self._ids, _REMEMBERED)]
        # A file that is still being written changes without changing the folder.
        is_young = "young" in self._state.unread.values()
        is_whole = not (is_young or self._is_mixed or self._ranks.left_out)
        if is_whole and _WORTH_IT <= len(ids) <= _MOST:
            _write(self._state, ids, self._untouched)
        else:
            forget(self._state)


@contextmanager
def adding(state: State, request: Request) -> Iterator[None]:
    """Put a request into `requests/` within the block; the lock is held."""
    ids, since_ns = _recall(state)
    # A kill between leaves no list that lacks it.
    forget(state)
    if not ids:
        yield
        return
    untouched = Untouched(state["requests"].fd, since_ns)
    with untouched.but_for_us():
        yield
    with suppress(_Foreign):
        at = bisect(ids, _place_of(request), key=_place_of_ours)
        if at < len(ids):
            # At the end it may belong behind others, which are not in the list.
            ids.insert(at, RequestId(request.request_id))
        _write(state, ids[:_MOST], untouched)


def forget(state: State) -> None:
    """The list no longer tells what is next."""
    with suppress(OSError):
        state.directory.remove(NAME)


class _Foreign(Exception):
    """An id that does not tell its place."""


def _place_of_ours(request_id: str) -> tuple[int, int, str]:
    rank = find_rank(request_id)
    if rank is None:
        raise _Foreign
    return PRIORITIES.index(rank[0]), rank[1], request_id


def _place_of(request: Request) -> tuple[int, int, str]:
    if find_rank(request.request_id):
        return _place_of_ours(request.request_id)
    level = PRIORITIES.index(request.priority)
    return level, request.created_at * 1000, request.request_id


def _write(state: State, ids: list[RequestId], untouched: Untouched) -> None:
    changed_ns = untouched.since_ns()
    if changed_ns is None:
        forget(state)
        return
    told = {"changed": changed_ns, "ids": ids}
    with suppress(OSError):
        state.directory.replace_quickly(NAME, orjson.dumps(told))


def _recall(state: State) -> tuple[list[RequestId], int | None]:
    """The ids that are next and the folder's time, if that is still what it was."""
    with suppress(orjson.JSONDecodeError, NotAPlainFile):
        told = orjson.loads(state.directory.read(NAME) or b"null")
        ids = told.get("ids") if isinstance(told, dict) else None
        since_ns = os.fstat(state["requests"].fd).st_mtime_ns
        if isinstance(ids, list) and told.get("changed") == since_ns:
            known = [RequestId(i) for i in ids if isinstance(i, str) and is_id(i)]
            return known, since_ns
    return [], None
