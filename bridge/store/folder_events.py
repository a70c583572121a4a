"""Wait until something comes into a folder: the kernel tells it, by `watchdog`.

All waiters of a process share one inotify instance. A user has 128, and the client
needs some to hear us: where few are left, or none, and where there is no inotify, a
waiter looks from time to time. So it does in its first second, as the library loads for
longer than a short wait spends looking.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers.api import BaseObserver

# When to have the kernel tell it, in seconds after the first look.
_AFTER_S = 1.0
# The pause between two looks where nothing is heard: half a percent of the time that
# was waited. With many waiting threads it is longer: together they look at most 1,000
# times a second.
_SHORTEST_S, _LONGEST_S = 0.005, 0.05
_PER_THREAD_S = 0.001
# How many instances have to be left for others.
_SPARE = 16


class _Heard:
    """What all waiters of this process hear: which of them wait for which folder."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = 0
        self._observer: BaseObserver | None = None
        self._watches: dict[str, tuple[Any, set[threading.Event]]] = {}

    def add(self, folder: str, event: threading.Event) -> None:
        """Set an event with each file that comes into a folder.

        Raises:
            OSError: it cannot be watched, or should not.
        """
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "there is no inotify")
        from watchdog.events import FileCreatedEvent, FileDeletedEvent, FileMovedEvent

        if self._process not in (0, os.getpid()):
            raise OSError(errno.ESRCH, "what hears it runs in the process above")
        with self._lock:
            if folder not in self._watches:
                observer, waiting = self._started(), set[threading.Event]()
                kinds = [FileCreatedEvent, FileDeletedEvent, FileMovedEvent]
                watch = observer.schedule(_handler(waiting), folder, event_filter=kinds)
                self._watches[folder] = watch, waiting
            self._watches[folder][1].add(event)

    def remove(self, folder: str, event: threading.Event) -> None:
        """Set the event no more; what nobody waits for is not watched any more."""
        with self._lock:
            watch, waiting = self._watches[folder]
            waiting.discard(event)
            if not waiting and self._observer:
                del self._watches[folder]
                self._observer.unschedule(watch)

    def _started(self) -> BaseObserver:
        if self._observer is None:
            from watchdog.observers.inotify import InotifyObserver
            from watchdog.observers.inotify_c import inotify_init

            spare = [fd for _ in range(_SPARE) if (fd := inotify_init()) >= 0]
            for fd in spare:
                os.close(fd)
            if len(spare) < _SPARE:
                raise OSError(errno.EMFILE, "few inotify instances are left")
            observer = InotifyObserver()
            observer.start()
            self._observer, self._process = observer, os.getpid()
        return self._observer


def _handler(waiting: set[threading.Event]) -> FileSystemEventHandler:
    """What sets all these events with each that the kernel tells."""
    from watchdog.events import FileSystemEventHandler

    class Handler(FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:
            del event
            for each in [*waiting]:
                each.set()

    return Handler()


_heard = _Heard()


class FolderEvents:
    """Wakes a waiter when a file comes into one of these folders, or leaves it.

    Use it as a context manager: look, and then `wait`. Nothing is missed that comes
    between a look and the wait after it.
    """

    def __init__(self, folders: Iterable[str | os.PathLike[str]]) -> None:
        self._folders = [os.fspath(each) for each in folders]
        self._event = threading.Event()
        self._heard: list[str] | None = None
        self._since_s = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for folder in self._heard or ():
            _heard.remove(folder, self._event)
        self._heard = []

    def wake(self) -> None:
        """End the wait that goes on, or the next one."""
        self._event.set()

    def wait(self, most_s: float, *, rest_s: float = 0.0) -> None:
        """Wait for an event, or `most_s`; where none can be heard, for a short pause.

        It takes `rest_s` at least: so much may happen that looks would take all time.
        """
        waited_s = time.monotonic() - self._since_s
        if self._heard is None and waited_s >= _AFTER_S:
            self._begin()
            # What came before that is there for the next look.
            return
        if not self._heard:
            most_s = min(max(_pause_s(waited_s), rest_s), most_s)
        # Not `time.sleep`: libfaketime, which some test with, makes it fail.
        if self._event.wait(most_s) and rest_s:
            threading.Event().wait(min(rest_s, most_s))
        self._event.clear()

    def _begin(self) -> None:
        """Have the kernel tell it, of all folders or of none."""
        self._heard = []
        with suppress(ImportError, OSError, RuntimeError):
            for folder in self._folders:
                _heard.add(folder, self._event)
                self._heard.append(folder)
            return
        self.__exit__()


def _pause_s(waited_s: float) -> float:
    pause_s = min(max(_SHORTEST_S, waited_s / 200), _LONGEST_S)
    return max(pause_s, _PER_THREAD_S * threading.active_count())
