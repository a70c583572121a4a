"""Wait until something comes into a folder: the kernel tells it, by `watchdog`.

All waiters of a process share one inotify instance. A user has 128, and the client
needs some to hear us: where few are left, or none, and where there is no inotify, a
waiter looks from time to time. So it does in its first seconds, in which an answer of
a session mostly comes: the library would load at that moment, and takes more of the
processor than all these looks.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Self, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from watchdog.observers.api import BaseObserver

# When to have the kernel tell it, in seconds after the first look.
_AFTER_S = 5.0
# The pause between two looks where nothing is heard: half a percent of the time that
# was waited. With many waiting threads it is longer: together they look at most 1,000
# times a second.
_SHORTEST_S, _LONGEST_S = 0.005, 0.05
_PER_THREAD_S = 0.001
# How many instances have to be left for others.
_SPARE = 16

_lock = threading.Lock()
# How many wait for what the observer watches.
_waiting = Counter[Any]()


class FolderEvents:
    """Wakes a waiter when a file comes into one of these folders, or leaves it.

    Use it as a context manager: look, and then `wait`. Nothing is missed that comes
    between a look and the wait after it.
    """

    def __init__(self, folders: Iterable[str | os.PathLike[str]]) -> None:
        self._folders = [os.fspath(each) for each in folders]
        self._event = threading.Event()
        self._since_s = time.monotonic()
        self._has_begun = False
        self._watches: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._watches:
            with _lock:
                watch, (observer, _process) = self._watches.pop(), _started()
                observer.remove_handler_for_watch(cast("Any", self), watch)
                _waiting[watch] -= 1
                if not _waiting[watch]:
                    observer.unschedule(watch)

    def dispatch(self, _event: object) -> None:
        """Take what the kernel tells, as a handler of watchdog does."""
        self._event.set()

    def wake(self) -> None:
        """End the wait that goes on, or the next one."""
        self._event.set()

    def wait(self, most_s: float, *, rest_s: float = 0.0) -> None:
        """Wait for an event, or `most_s`; where none can be heard, for a short pause.

        It takes `rest_s` at least: so much may happen that looks would take all time.
        """
        waited_s = time.monotonic() - self._since_s
        if not self._has_begun and waited_s >= _AFTER_S:
            self._begin()
            # What came before that is there for the next look.
            return
        if not self._watches:
            most_s = min(max(_pause_s(waited_s), rest_s), most_s)
        # Not `time.sleep`: libfaketime, which some test with, makes it fail.
        if self._event.wait(most_s) and rest_s:
            threading.Event().wait(min(rest_s, most_s))
        self._event.clear()

    def _begin(self) -> None:
        """Have the kernel tell it, of all folders or of none."""
        self._has_begun = True
        with suppress(ImportError, OSError, RuntimeError):
            from watchdog.events import (
                FileCreatedEvent,
                FileDeletedEvent,
                FileMovedEvent,
            )

            kinds = [FileCreatedEvent, FileDeletedEvent, FileMovedEvent]
            for folder in self._folders:
                with _lock:
                    observer, process = _started()
                    if process != os.getpid():
                        raise OSError(errno.ESRCH, "it is heard in the process above")
                    watch = observer.schedule(
                        cast("Any", self), folder, event_filter=kinds
                    )
                    _waiting[watch] += 1
                self._watches.append(watch)
            return
        self.__exit__()


@cache
def _started() -> tuple[BaseObserver, int]:
    """What hears it for all waiters, and in which process.

    Raises:
        OSError: it cannot be heard, or should not.
    """
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, "there is no inotify")
    from watchdog.observers.inotify import InotifyObserver
    from watchdog.observers.inotify_c import inotify_init

    spare = [fd for _ in range(_SPARE) if (fd := inotify_init()) >= 0]
    for fd in spare:
        os.close(fd)
    if len(spare) < _SPARE:
        raise OSError(errno.EMFILE, "few inotify instances are left")
    observer = InotifyObserver()
    observer.start()
    return observer, os.getpid()


def _pause_s(waited_s: float) -> float:
    pause_s = min(max(_SHORTEST_S, waited_s / 200), _LONGEST_S)
    return max(pause_s, _PER_THREAD_S * threading.active_count())
