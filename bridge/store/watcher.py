"""Notice that files have come to a folder: one watcher per process, however many wait.

The kernel's notice comes first, with slow polling behind it. If no watch can be had (a
network file system, no inotify instances left), polling is fast instead. Either way one
thread polls for all folders and all waiters; it ends when nobody waits. A poll costs
one `stat` of the folder, and reads it only if that shows a change.

A process has one inotify instance for everything: a user has few (128), and the client
needs them for its own watching.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import defaultdict
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from watchdog.observers.api import BaseObserver, ObservedWatch

LOOK_S = 1.0
LOOK_UNWATCHED_S = 0.05
# The time of a folder may be that of the kernel's last tick: a later change within the
# same tick does not show.
_TICK_NS = 20_000_000


@contextmanager
def noticing(folder: str, names: Collection[str]) -> Iterator[Changes]:
    """Notice files of these `names` that come to `folder`, for the length of the block.

    Look at the folder first: files from before the block are no change. Removing or
    replacing the folder is one.
    """
    hub = _hub
    changes = Changes(hub)
    watched = hub.join(folder, changes, names)
    try:
        yield changes
    finally:
        hub.leave(watched, changes, names)


class Changes:
    """Whether something has come since the last call. One thread may wait for it."""

    def __init__(self, hub: _Hub) -> None:
        self._hub = hub
        self._rung = threading.Event()

    def wait(self, timeout_s: float) -> bool:
        """Wait for a change; False when there is none within `timeout_s` seconds."""
        if self._hub is not _hub:
            # In a child made by fork nobody watches for this block.
            time.sleep(min(timeout_s, LOOK_UNWATCHED_S))
            return True
        if not self._rung.wait(timeout_s):
            # Not cleared: a change at this moment is reported the next time.
            return False
        self._rung.clear()
        return True

    def ring(self) -> None:
        """Tell the waiter to look."""
        self._rung.set()


class _Watched:
    """One folder, and who waits for what in it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.watch: ObservedWatch | None = None
        self.waiters = 0
        # Only for the tables below: its holder calls nothing else.
        self._lock = threading.RLock()
        self._by_name: defaultdict[str, set[Changes]] = defaultdict(set)
        # While it is open, its inode number cannot be reused.
        self._fd = _open(path)
        self._seen = self._state()
        self._which = self._seen[:2]
        self._looked_ns = time.time_ns()

    @property
    def is_gone(self) -> bool:
        """Whether the path no longer leads to the folder that was watched first."""
        return self._state()[:2] != self._which

    def close(self) -> None:
        """Close the folder; may be called more than once."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def add(self, changes: Changes, names: Collection[str]) -> None:
        """Start reporting these names to `changes`."""
        with self._lock:
            self.waiters += 1
            for name in names:
                self._by_name[name].add(changes)

    def take_out(self, changes: Changes, names: Collection[str]) -> None:
        """Stop reporting to `changes`."""
        with self._lock:
            self.waiters -= 1
            for name in names:
                self._by_name[name].discard(changes)
                if not self._by_name[name]:
                    del self._by_name[name]

    def tell(self, names: Iterable[str]) -> None:
        """Files of these names have come."""
        with self._lock:
            found = [self._by_name.get(name, set()) for name in names]
            concerned = set[Changes]().union(*found)
        for changes in concerned:
            changes.ring()

    def tell_all(self) -> None:
        """Something has happened that concerns every waiter."""
        with self._lock:
            names = list(self._by_name)
        self.tell(names)

    def look(self) -> None:
        """Report what has changed since the last look."""
        now_ns = time.time_ns()
        seen, before = self._state(), self._seen
        is_settled = abs(self._looked_ns - seen[2]) > _TICK_NS
        self._seen, self._looked_ns = seen, now_ns
        if seen[:2] != before[:2]:
            self.tell_all()
        elif seen != before or not is_settled:
            with suppress(OSError):
                self.tell(os.listdir(self.path))

    def _state(self) -> tuple[int, int, int]:
        """Which folder it is, and when something in it changed."""
        try:
            facts = os.lstat(self.path)
        except OSError:
            return 0, 0, 0
        return facts.st_dev, facts.st_ino, facts.st_mtime_ns


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return -1


class _Hub:
    """All folders that this process watches."""

    def __init__(self) -> None:
        # Held while the observer is called, which calls us back under its own lock: the
        # callback takes only a folder's lock.
        self._lock = threading.RLock()
        self._folders: list[_Watched] = []
        self._observer: BaseObserver | None = None
        self._thread: threading.Thread | None = None
        self._left = threading.Event()

    def join(self, path: str, changes: Changes, names: Collection[str]) -> _Watched:
        """Watch a folder, if nobody does yet."""
        with self._lock:
            watched = self._find(path)
            if watched is None:
                watched = _Watched(path)
                watched.watch = self._schedule(watched)
                self._folders.append(watched)
            watched.add(changes, names)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="hostbridge-watch", daemon=True
                )
                self._thread.start()
            elif watched.watch is None:
                # It may sleep for long.
                self._left.set()
        return watched

    def leave(
        self, watched: _Watched, changes: Changes, names: Collection[str]
    ) -> None:
        """Stop watching; the thread ends the watch, since that takes a while."""
        if self is not _hub:
            return
        watched.take_out(changes, names)
        if not watched.waiters:
            self._left.set()

    def _find(self, path: str) -> _Watched | None:
        for watched in self._folders:
            if watched.path == path and not watched.is_gone:
                return watched
            if watched.path == path:
                # A watch is known by its path: do not confuse it with the next one.
                self._unschedule(watched)
        return None

    def forget(self) -> None:
        """Close what is open in a process that has no thread of ours."""
        for watched in self._folders:
            watched.close()

    def _run(self) -> None:
        while True:
            self._left.wait(self._pause_s())
            self._left.clear()
            with self._lock:
                for watched in [w for w in self._folders if not w.waiters]:
                    self._unschedule(watched)
                    self._folders.remove(watched)
                    watched.close()
                if not self._folders:
                    observer, self._observer, self._thread = self._observer, None, None
                    break
                folders = list(self._folders)
            for watched in folders:
                watched.look()
        if observer is not None:
            observer.stop()

    def _pause_s(self) -> float:
        with self._lock:
            is_blind = any(w.watch is None for w in self._folders)
        return LOOK_UNWATCHED_S if is_blind else LOOK_S

    def _schedule(self, watched: _Watched) -> ObservedWatch | None:
        try:
            if self._observer is None:
                self._observer = _start_observer()
            return _schedule(self._observer, watched)
        except OSError:
            return None

    def _unschedule(self, watched: _Watched) -> None:
        if watched.watch is not None and self._observer is not None:
            # If the folder is gone, the observer has ended the watch itself.
            with suppress(KeyError, OSError):
                self._observer.unschedule(watched.watch)
        watched.watch = None


def _start_observer() -> BaseObserver:
    from watchdog.observers import Observer

    _quieten()
    observer = Observer()
    observer.start()
    return observer


def _schedule(observer: BaseObserver, watched: _Watched) -> ObservedWatch:
    from watchdog.events import (
        DirDeletedEvent,
        FileCreatedEvent,
        FileMovedEvent,
        FileSystemEvent,
        FileSystemEventHandler,
    )

    class Handler(FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:
            path = os.fsdecode(event.dest_path or event.src_path)
            if path == watched.path:
                watched.tell_all()
            else:
                watched.tell([os.path.basename(path)])

    # Ignore temporaries, and the folder changes that come with them.
    kinds: list[type[FileSystemEvent]] = [
        FileCreatedEvent,
        FileMovedEvent,
        DirDeletedEvent,
    ]
    return observer.schedule(Handler(), watched.path, event_filter=kinds)


@cache
def _quieten() -> None:
    """Drop what watchdog 7 logs as an error whenever an observer is stopped."""
    logger = logging.getLogger("watchdog.observers.inotify")
    logger.addFilter(lambda record: "thread is inactive" not in str(record.msg))


_hub = _Hub()


def _begin_anew() -> None:
    # A forked child has none of the threads, and the locks as they were.
    global _hub  # noqa: PLW0603 - one a process
    _hub.forget()
    _hub = _Hub()


os.register_at_fork(after_in_child=_begin_anew)
