"""Wait for responses: the kernel's notice first, a slow look behind it.

The deadline is on the monotonic clock. The first look comes before the first wait,
after the watch is in place, so nothing falls between. Where no watch can be had (a
network file system, no inotify instances left), the looks come quickly instead.
"""

from __future__ import annotations

import logging
import os
import threading
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING

from bridge.errors import StateUnavailable, StateVanished
from bridge.protocol.ids import RequestId, is_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.protocol.response import Response
    from bridge.store.files import FileStore
    from bridge.store.rooms import Rooms

LOOK_S = 1.0
LOOK_UNWATCHED_S = 0.05


def wait_for(
    store: FileStore,
    ids: set[RequestId],
    *,
    timeout_s: float,
    tend: Callable[[], None],
) -> Iterator[Response]:
    """Yield each response as it comes; stop at the deadline or when all are there.

    What `tend` cannot do because the state is not available just now, it may do the
    next time; it must not take long.

    Raises:
        StateVanished: the state directory was removed or replaced meanwhile.
    """
    clock = store.clock
    deadline = clock.monotonic_s() + timeout_s
    open_ids = {request_id for request_id in ids if is_id(request_id)}
    with store.rooms() as rooms:
        for response in _arrived(rooms, open_ids):
            yield response
        if not open_ids or timeout_s <= 0:
            return
        with _watch(rooms["responses"].path, open_ids) as (rung, pause_s):
            while True:
                rung.clear()
                _check_there(rooms)
                for response in _arrived(rooms, open_ids):
                    yield response
                left = deadline - clock.monotonic_s()
                if not open_ids or left <= 0:
                    return
                if not rung.wait(min(pause_s, left)):
                    with suppress(StateUnavailable):
                        tend()


def _arrived(rooms: Rooms, open_ids: set[RequestId]) -> Iterator[Response]:
    """The responses that are there; they are taken out of `open_ids`."""
    responses = rooms["responses"]
    for request_id in sorted(i for i in open_ids if responses.has(f"{i}.json")):
        response = rooms.response(request_id)
        if response is not None:
            open_ids.discard(request_id)
            yield response


@cache
def _quieten() -> None:
    """Drop what watchdog 7 logs as an error whenever an observer is stopped."""
    logger = logging.getLogger("watchdog.observers.inotify")
    logger.addFilter(lambda record: "thread is inactive" not in str(record.msg))


def _check_there(rooms: Rooms) -> None:
    """Notice that what is watched is no longer what the path leads to."""
    responses = rooms["responses"]
    held = os.fstat(responses.fd)
    try:
        there = os.lstat(responses.path)
        is_there = (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)
    except (FileNotFoundError, NotADirectoryError):
        is_there = False
    if not is_there:
        raise StateVanished(
            f"{rooms.state.path} was removed or replaced while waiting; what was asked "
            "there is lost"
        )


@contextmanager
def _watch(
    folder: str, wanted: set[RequestId]
) -> Iterator[tuple[threading.Event, float]]:
    """Watch a folder for new files; yields the event and how long to trust it (s)."""
    from watchdog.events import (
        DirDeletedEvent,
        FileCreatedEvent,
        FileMovedEvent,
        FileSystemEvent,
        FileSystemEventHandler,
    )
    from watchdog.observers import Observer

    _quieten()
    rung = threading.Event()

    class Handler(FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:
            path = os.fsdecode(event.dest_path or event.src_path)
            name = os.path.basename(path)
            if name.removesuffix(".json") in wanted or path == folder:
                rung.set()

    # Nothing of the temporaries, and not that the folder changed with each of them.
    told: list[type[FileSystemEvent]] = [
        FileCreatedEvent,
        FileMovedEvent,
        DirDeletedEvent,
    ]
    try:
        observer = Observer()
        observer.schedule(Handler(), folder, event_filter=told)
        observer.start()
    except OSError:
        yield rung, LOOK_UNWATCHED_S
        return
    try:
        yield rung, LOOK_S
    finally:
        # The kernel takes up to 25 ms to close a watch: nobody waits for that.
        threading.Thread(target=observer.stop, daemon=True).start()
