"""Wait for responses.

The deadline is on the monotonic clock. A look is one `stat` of the folder of responses;
only if that has changed, or a second has passed, are the answers' names looked for;
only if one is there is the state opened. Between two looks a waiter holds no file of
the state open.

Each waiter looks once a second, and when the kernel tells of something new. In its
first second, and where the kernel cannot, it looks by itself, seldom enough to cost
next to nothing (`folder_events`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING

from bridge.errors import StateUnavailable, StateVanished
from bridge.protocol.ids import RequestId, is_id
from bridge.protocol.response import Response
from bridge.store.clock import Clock
from bridge.store.directory import Folder
from bridge.store.folder_events import FolderEvents
from bridge.store.state import State

if TYPE_CHECKING:
    Opening = Callable[..., AbstractContextManager[State]]

# How often to call `tend`.
TEND_S = 1.0
# Looking takes at most a tenth of a processor, however many answers are awaited.
_SHARE = 9
# The time of a folder may be that of the kernel's last tick: a later change within the
# same tick does not show.
_TICK_NS = 20_000_000


def wait_for(
    opening: Opening,
    clock: Clock,
    ids: set[RequestId],
    *,
    timeout_s: float,
    tend: Callable[[], None],
) -> Iterator[Response]:
    """Yield each response as it comes; stop at the deadline or when all are there.

    If the state is unavailable, `tend` may try again the next time; it must not take
    long. It may find that a request is gone.

    Raises:
        StateVanished: the state directory was removed or replaced meanwhile.
    """
    began_s = clock.monotonic_s()
    open_ids = {request_id for request_id in ids if is_id(request_id)}
    with opening() as state:
        there = list(_arrived(state, open_ids))
        watched = _Watched(state["responses"])
        path = state.directory.path
    yield from there
    if not open_ids or timeout_s <= 0:
        return
    tend_at_s = began_s + TEND_S
    with FolderEvents([f"{path}/responses"]) as events:
        while open_ids:
            began_look_s = time.thread_time()
            is_due = watched.may_hold(open_ids)
            found = _look(opening, watched, path, open_ids) if is_due else ()
            spent_s = time.thread_time() - began_look_s
            yield from found
            now_s = clock.monotonic_s()
            left_s = began_s + timeout_s - now_s
            if left_s <= 0:
                return
            if now_s >= tend_at_s:
                try:
                    tend()
                except StateVanished:
                    raise
                except StateUnavailable:
                    pass
                tend_at_s = clock.monotonic_s() + TEND_S
                watched.forget()
            elif open_ids:
                events.wait(min(left_s, tend_at_s - now_s), rest_s=_SHARE * spent_s)


class _Watched:
    """The folder of responses: which one it is, and when it changed."""

    def __init__(self, folder: Folder) -> None:
        self._path = folder.path
        self._which = _which(os.fstat(folder.fd))
        self._seen_ns = -1

    def may_hold(self, ids: Collection[RequestId]) -> bool:
        """Whether one of these may have come, or another folder has the path."""
        now_ns = time.time_ns()
        try:
            facts = os.lstat(self._path)
        except OSError:
            return True
        if _which(facts) != self._which:
            return True
        if facts.st_mtime_ns == self._seen_ns:
            return False
        if abs(now_ns - facts.st_mtime_ns) > _TICK_NS:
            self._seen_ns = facts.st_mtime_ns
        return any(os.path.lexists(f"{self._path}/{each}.json") for each in ids)

    def forget(self) -> None:
        """Search at the next look, whatever the time of the folder says.

        Some file systems tell whole seconds only; some have a clock of their own.
        """
        self._seen_ns = -1

    def is_same(self, folder: Folder) -> bool:
        """Whether this is the folder that was there first."""
        return _which(os.fstat(folder.fd)) == self._which


def _look(
    opening: Opening, watched: _Watched, path: str, open_ids: set[RequestId]
) -> list[Response]:
    """What has come to the watched folder.

    Raises:
        StateVanished: its path leads elsewhere now.
    """
    with suppress(FileNotFoundError, StateVanished), opening(make=False) as state:
        if watched.is_same(state["responses"]):
            return list(_arrived(state, open_ids))
    raise StateVanished(
        f"{path} was removed or replaced while waiting; what was asked there is lost"
    )


def _arrived(state: State, open_ids: set[RequestId]) -> Iterator[Response]:
    """The responses that are there; they are taken out of `open_ids`."""
    responses = state["responses"]
    for request_id in sorted(i for i in open_ids if responses.has(f"{i}.json")):
        response = state.response(request_id)
        if response is not None:
            open_ids.discard(request_id)
            yield response


def _which(facts: os.stat_result) -> tuple[int, int]:
    """Identifies a folder as long as it is there."""
    return facts.st_dev, facts.st_ino
