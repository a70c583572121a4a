"""The store's one lock: a kernel lock, held for milliseconds, never broken by age.

The kernel lets it go when its holder dies, however it dies. In a process that lives on,
the lock is an open file: an interrupt at whatever moment drops the file, which closes
it. A child made by fork has no part in it, whether its parent holds the lock or waits
for it (`bridge.own_files`). Threads of one process get it in the order in which they
came, and only the first of them asks the kernel: hundreds may wait. A file system
without flock is refused by name: a lock file whose mere existence means "locked"
survives its holder.
The lock file itself stays for ever: unlinking it would let a waiter hold the old inode
while a newcomer creates and locks a fresh one, and both would believe they are alone.
"""

import fcntl
import os
import stat
import time
from _thread import LockType, allocate_lock, get_ident
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO
from typing import NamedTuple
from weakref import WeakKeyDictionary

from bridge import own_files
from bridge.errors import StateUnavailable
from bridge.store.directory import Folder, NotAPlainFile
from bridge.store.host_process import describe, holders_of

LOCK_NAME = "store.lock"
_POLL_S = 0.002
# A loop that takes the lock again and again pauses in between: long enough for a waiter
# that polls every `_POLL_S`, even a late one.
TURN_S = 2.5 * _POLL_S
_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

# How soon a thread sees that those before it are gone, however they went.
_LOOK_S = 2.0


class _Thread(NamedTuple):
    """A thread that waits for a lock, or has it.

    `turn` is let go of when its turn may have come. It is a bare lock, since a signal
    handler may come between any two steps of another.
    """

    lock: tuple[int, int]
    ident: int
    turn: LockType


_Known = WeakKeyDictionary[FileIO, _Thread]
# Who holds each lock, until the file is closed; and who waits, in order. Whoever is
# interrupted drops its file, and is gone from here.
_held: _Known = WeakKeyDictionary()
_waiting: _Known = WeakKeyDictionary()


class LockBusy(StateUnavailable):
    """Somebody else held the store's lock for the whole waiting time."""

    # To a program both are one case: the time was up.
    code = "timeout"


def locked(state: Folder, *, wait_s: float) -> FileIO:
    """Take the store's lock; as `lock_in`."""
    with state.folder("locks") as folder:
        return lock_in(folder, LOCK_NAME, wait_s=wait_s)


def lock_in(folder: Folder, name: str, *, wait_s: float) -> FileIO:
    """Take the lock `name`, and hold it until the file is closed, as by `with`.

    Raises:
        LockBusy: not free within `wait_s` seconds; or held by this thread, interrupted
            by a signal handler: waiting for itself would never end.
        StateUnavailable: flock does not work here; or this process was forked in the
            middle of this.
        NotAPlainFile: the lock file is something else.
    """
    path = f"{folder.path}/{name}"
    try:
        file = _open(folder, name, path)
        try:
            _acquire(file, path, wait_s)
        except BaseException:
            file.close()
            raise
    except Exception:
        # In a child that was forked here, the file was closed.
        own_files.check()
        raise
    # Closing it releases the lock: nobody else has this open file description.
    return file


def _open(folder: Folder, name: str, path: str) -> FileIO:
    try:
        file = own_files.open_file(name, _OPEN, dir_fd=folder.fd)
    except OSError:
        facts = folder.facts(name)
        if facts is not None and not stat.S_ISREG(facts.st_mode):
            raise NotAPlainFile(path) from None
        raise
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise NotAPlainFile(path)
    return file


def _acquire(file: FileIO, path: str, wait_s: float) -> None:
    facts = os.fstat(file.fileno())
    me = _Thread((facts.st_dev, facts.st_ino), get_ident(), allocate_lock())
    if any(each.ident == me.ident for each in _threads(_held, me.lock)):
        # For example in a signal handler: the holder waits for us.
        raise LockBusy(
            f"{path} is held by this very thread, which was interrupted: a signal "
            "handler cannot use hostbridge in the middle of its own thread's use of "
            "it; have it set a flag, and ask afterwards"
        )
    try:
        if not _has_turn(file, me, wait_s):
            raise LockBusy(
                f"{path} is held{_by_whom(me.lock, facts)}; waited {wait_s:.3g} s. See "
                "`hostbridge doctor`"
            )
    except OSError as exc:
        raise StateUnavailable(
            f"{path}: cannot be locked ({os.strerror(exc.errno or 0)}); the state "
            "directory must lie on a local file system with a working flock"
        ) from exc
    _held[file] = me


def _has_turn(file: FileIO, me: _Thread, wait_s: float) -> bool:
    """Wait for the lock behind the threads that came before; False if not in time."""
    deadline = time.monotonic() + wait_s
    me.turn.acquire()
    _waiting[file] = me
    try:
        while not ((is_first := _is_first(me)) and _try(file)):
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            if is_first:
                time.sleep(_POLL_S)
            else:
                me.turn.acquire(timeout=min(left_s, _LOOK_S))
    finally:
        _waiting.pop(file, None)
        if (first := next(_threads(_waiting, me.lock), None)) is not None:
            # It was told before, and has not looked yet.
            with suppress(RuntimeError):
                first.turn.release()
    return True


def _is_first(me: _Thread) -> bool:
    """Whether it is the turn of this thread, perhaps of what its handler interrupted.

    In a child made by fork nobody waits: its files are closed.
    """
    first = next(_threads(_waiting, me.lock), me)
    return first.ident == me.ident


def _try(file: FileIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _threads(known: _Known, lock: tuple[int, int]) -> Iterator[_Thread]:
    # A copy of the keys is made in one step, whatever other threads do.
    for ref in known.keyrefs():
        file = ref()
        thread = known.get(file) if file is not None and not file.closed else None
        if thread is not None and thread.lock == lock:
            yield thread


def _by_whom(lock: tuple[int, int], facts: os.stat_result) -> str:
    """Who holds the lock, as far as that can be seen from here."""
    # To look through what all processes have open takes a while.
    pids = [os.getpid()] if any(_threads(_held, lock)) else holders_of(facts)
    return f" by {' and '.join(map(describe, pids))}" if pids else ""
