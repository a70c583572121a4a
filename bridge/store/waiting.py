"""Wait for responses: the kernel's notice first, a slow look behind it.

The deadline is on the monotonic clock. The first look comes before the first wait, after
the watch is in place, so nothing falls between. Where no watch can be had (a network file
system, no inotify instances left), the looks come quickly instead.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bridge.errors import StateVanished

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.protocol.ids import RequestId
    from bridge.protocol.response import Response
    from bridge.store.files import FileStore

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

    Raises:
        StateVanished: the state directory was removed or replaced meanwhile.
    """
    clock = store.clock
    deadline = clock.monotonic_s() + timeout_s
    open_ids = set(ids)
    for response in store.responses_among(open_ids):
        open_ids.discard(response.request_id)  # type: ignore[arg-type]  # a str is an id
        yield response
    if not open_ids:
        return
    folder = store.place.state / "responses"
    identity = _identity(str(store.place.state))
    with _watch(str(folder), open_ids) as (rung, pause_s):
        while True:
            rung.clear()
            for response in store.responses_among(open_ids):
                open_ids.discard(response.request_id)  # type: ignore[arg-type]
                yield response
            left = deadline - clock.monotonic_s()
            if not open_ids or left <= 0:
                return
            if not rung.wait(min(pause_s, left)):
                if _identity(str(store.place.state)) != identity:
                    raise StateVanished(
                        f"{store.place.state} was removed or replaced while waiting; "
                        "what was asked there is lost"
                    )
                tend()


@contextmanager
def _watch(
    folder: str, wanted: set[RequestId]
) -> Iterator[tuple[threading.Event, float]]:
    """Watch a folder for new files; yields the event and how long to trust it (s)."""
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers import Observer

    rung = threading.Event()

    class Handler(FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:
            path = os.fsdecode(event.dest_path or event.src_path)
            name = os.path.basename(path)  # noqa: PTH119 - once per file event
            if name.removesuffix(".json") in wanted:
                rung.set()

    observer = Observer()
    try:
        observer.schedule(Handler(), folder)
        observer.start()
    except OSError:
        yield rung, LOOK_UNWATCHED_S
        return
    try:
        yield rung, LOOK_S
    finally:
        observer.stop()
        observer.join()


def _identity(path: str) -> tuple[int, int] | None:
    try:
        facts = os.stat(path)  # noqa: PTH116 - device and inode, nothing else
    except OSError:
        return None
    return facts.st_dev, facts.st_ino
