"""Wait for responses.

The deadline is on the monotonic clock. The first look comes after the watch is in place
and before the first wait, so nothing is missed. A waiter holds no file open.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from bridge.errors import StateUnavailable, StateVanished
from bridge.protocol.ids import RequestId, is_id
from bridge.store.watcher import noticing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from bridge.protocol.response import Response
    from bridge.store.clock import Clock
    from bridge.store.state import State

    Opening = Callable[..., AbstractContextManager[State]]

# How often to call `tend`.
LOOK_S = 1.0


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
    long.

    Raises:
        StateVanished: the state directory was removed or replaced meanwhile.
    """
    deadline = clock.monotonic_s() + timeout_s
    open_ids = {request_id for request_id in ids if is_id(request_id)}
    with ExitStack() as stack:
        with opening() as state:
            there = list(_arrived(state, open_ids))
            responses = state["responses"]
            if open_ids and timeout_s > 0:
                which, path = _which(responses.fd), state.directory.path
                names = [f"{request_id}.json" for request_id in open_ids]
                changes = stack.enter_context(noticing(responses.path, names))
        yield from there
        if not open_ids or timeout_s <= 0:
            return
        is_due = True
        while True:
            if is_due:
                yield from _look(opening, which, path, open_ids)
            left = deadline - clock.monotonic_s()
            if not open_ids or left <= 0:
                return
            is_due = changes.wait(min(LOOK_S, left))
            if not is_due:
                with suppress(StateUnavailable):
                    tend()


def _look(
    opening: Opening, which: tuple[int, int], path: str, open_ids: set[RequestId]
) -> list[Response]:
    """What has come to the watched folder.

    Raises:
        StateVanished: its path leads elsewhere now.
    """
    with suppress(FileNotFoundError, StateVanished), opening(make=False) as state:
        if _which(state["responses"].fd) == which:
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


def _which(fd: int) -> tuple[int, int]:
    """Identifies the folder that is held open."""
    facts = os.fstat(fd)
    return facts.st_dev, facts.st_ino
