"""The store's one lock: a kernel lock, held for milliseconds, never broken by age.

The kernel lets it go when its holder dies, however it dies. A file system without flock
is refused by name: a lock file whose mere existence means "locked" survives its holder.
The lock file itself stays for ever: unlinking it would let a waiter hold the old inode
while a newcomer creates and locks a fresh one, and both would believe they are alone.
"""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bridge.errors import StateUnavailable
from bridge.store.directory import NotAPlainFile
from bridge.store.host_process import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.store.directory import Folder

LOCK_NAME = "store.lock"
_POLL_S = 0.002
# A loop that takes the lock again and again pauses in between: long enough for a waiter
# that polls every `_POLL_S`, even a late one.
TURN_S = 2.5 * _POLL_S
_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

# Which thread holds each lock.
_held: dict[int, int] = {}


class LockBusy(StateUnavailable):
    """Somebody else held the store's lock for the whole waiting time."""

    # To a program both are one case: the time was up.
    code = "timeout"


@contextmanager
def locked(state: Folder, *, wait_s: float) -> Iterator[None]:
    """Hold the store's lock for the length of the block.

    Raises:
        LockBusy: not free within `wait_s` seconds; or held by this thread, interrupted
            by a signal handler: waiting for itself would never end.
        StateUnavailable: flock does not work here.
        NotAPlainFile: the lock file is something else.
    """
    with state.folder("locks") as folder:
        path = f"{folder.path}/{LOCK_NAME}"
        fd = _open(folder, path)
    try:
        _acquire(fd, path, wait_s)
    except BaseException:
        os.close(fd)
        raise
    _held[fd] = threading.get_ident()
    try:
        yield
    finally:
        if _held.pop(fd, None) is not None:
            # Closing releases it: nobody else has this open file description.
            os.close(fd)


def _open(folder: Folder, path: str) -> int:
    try:
        fd = os.open(LOCK_NAME, _OPEN, 0o600, dir_fd=folder.fd)
    except OSError:
        facts = folder.facts(LOCK_NAME)
        if facts is not None and not stat.S_ISREG(facts.st_mode):
            raise NotAPlainFile(path) from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise NotAPlainFile(path)
    return fd


def _acquire(fd: int, path: str, wait_s: float) -> None:
    if _is_mine(fd):
        # For example in a signal handler: the holder waits for us.
        raise LockBusy(
            f"{path} is held by this very thread, which was interrupted: a signal "
            "handler cannot use hostbridge in the middle of its own thread's use of "
            "it; have it set a flag, and ask afterwards"
        )
    deadline = time.monotonic() + wait_s
    try:
        while not _try(fd):
            if time.monotonic() >= deadline:
                raise LockBusy(
                    f"{path} is held{_by_whom(fd)}; waited {wait_s:.3g} s. See "
                    "`hostbridge doctor`"
                )
            time.sleep(_POLL_S)
    except OSError as exc:
        raise StateUnavailable(
            f"{path}: cannot be locked ({os.strerror(exc.errno or 0)}); the state "
            "directory must lie on a local file system with a working flock"
        ) from exc


def _try(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_mine(fd: int) -> bool:
    """Whether the calling thread holds this lock."""
    mine = [held for held, thread in _held.items() if thread == threading.get_ident()]
    return any(os.path.sameopenfile(fd, held) for held in mine)


def _by_whom(fd: int) -> str:
    """Who holds the lock, if the kernel says.

    Source: proc(5), "/proc/locks".
    """
    with suppress(OSError, ValueError, IndexError):
        inode = f":{os.fstat(fd).st_ino}"
        with open("/proc/locks", encoding="ascii") as table:
            for fields in map(str.split, table):
                if fields[1] == "FLOCK" and fields[5].endswith(inode):
                    return f" by {describe(int(fields[4]))}"
    return ""


def _let_go_in_child() -> None:
    # A child made by fork shares the lock. Were it to outlive its parent, the lock
    # would outlive its holder.
    while _held:
        os.close(_held.popitem()[0])


os.register_at_fork(after_in_child=_let_go_in_child)
