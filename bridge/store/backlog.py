"""The order of a long queue, remembered from one claim to the next.

To list ten thousand names costs more than to claim four of them. So a claim that leaves
a long queue behind writes the next few hundred ids, in order, to `order.json`, with the
time of the last change of `requests/`. Whoever puts a request there under the lock
removes the file; a file that another program drops there changes the folder's time.
Either way the next claim lists again.

Nothing depends on it: a list that is wrong or missing costs time. A request dropped by
hand within one tick of the file system's clock after a claim may wait for the listed
ones.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

import orjson

from bridge.protocol.ids import RequestId, is_id
from bridge.store.folder import NotAPlainFile
from bridge.store.looking import MAX_ASKED, Ranks, waiting_in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.store.rooms import Rooms

NAME = "order.json"
_REMEMBERED = 256
# With fewer to come, a listing is as cheap; so it is with more.
_WORTH_IT, _MOST = 32, 1024


class Backlog:
    """The waiting ids, in order; the lock is held.

    Args:
        rooms: where they lie.
        is_known: whether the claimer knows an id well enough to leave it out unread.
            Those that tell their place themselves are not left out.
    """

    def __init__(self, rooms: Rooms, is_known: Callable[[str], object]) -> None:
        self._rooms = rooms
        self._ranks = Ranks(rooms, most=MAX_ASKED, is_known=is_known)
        known = _recall(rooms)
        self._is_recalled = bool(known)
        self._ids = iter(known) if known else waiting_in_order(rooms, self._ranks)

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
            self._is_recalled = False
            self._ids = waiting_in_order(self._rooms, self._ranks)
            yield from (found for found in self._ids if found not in seen)

    def remember(self, still_waiting: list[RequestId]) -> None:
        """Write down what comes next; `still_waiting` was yielded, and stays."""
        ids = [*still_waiting, *islice(self._ids, _REMEMBERED)]
        # A file that is still being written changes without changing the folder.
        is_young = "young" in self._rooms.unread.values()
        if not _WORTH_IT <= len(ids) <= _MOST or is_young or self._ranks.left_out:
            forget(self._rooms)
            return
        told = {"changed": _changed_ns(self._rooms), "ids": ids}
        with suppress(OSError):
            self._rooms.state.replace_quickly(NAME, orjson.dumps(told))


def forget(rooms: Rooms) -> None:
    """Something came into the queue: the list no longer tells what is next."""
    with suppress(OSError):
        rooms.state.remove(NAME)


def _recall(rooms: Rooms) -> list[RequestId]:
    with suppress(orjson.JSONDecodeError, NotAPlainFile):
        told = orjson.loads(rooms.state.read(NAME) or b"null")
        if isinstance(told, dict) and told.get("changed") == _changed_ns(rooms):
            ids = told.get("ids")
            if isinstance(ids, list):
                return [RequestId(i) for i in ids if isinstance(i, str) and is_id(i)]
    return []


def _changed_ns(rooms: Rooms) -> int:
    return os.fstat(rooms["requests"].fd).st_mtime_ns
