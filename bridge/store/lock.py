"""The store's one lock: a kernel lock, held for milliseconds, never broken by age.

The kernel lets it go when its holder dies, however it dies. In a process that lives on,
the lock is an open file: an interrupt at whatever moment drops the file, which closes
it. A child made by fork has no part in it, whether its parent holds the lock or waits
for it (`bridge.own_files`). A file system without flock is refused by name: a lock file
whose mere existence means "locked" survives its holder.
The lock file itself stays for ever: unlinking it would let a waiter hold the old inode
while a newcomer creates and locks a fresh one, and both would believe they are alone.
"""

import fcntl
import os
import stat
import threading
import time
from io import FileIO
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

# Which thread holds each lock, until the file is closed.
_held: WeakKeyDictionary[FileIO, int] = WeakKeyDictionary()


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
            _held[file] = threading.get_ident()
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
    if _is_mine(file):
        # For example in a signal handler: the holder waits for us.
        raise LockBusy(
            f"{path} is held by this very thread, which was interrupted: a signal "
            "handler cannot use hostbridge in the middle of its own thread's use of "
            "it; have it set a flag, and ask afterwards"
        )
    deadline = time.monotonic() + wait_s
    try:
        while not _try(file):
            if time.monotonic() >= deadline:
                raise LockBusy(
                    f"{path} is held{_by_whom(file)}; waited {wait_s:.3g} s. See "
                    "`hostbridge doctor`"
                )
            time.sleep(_POLL_S)
    except OSError as exc:
        raise StateUnavailable(
            f"{path}: cannot be locked ({os.strerror(exc.errno or 0)}); the state "
            "directory must lie on a local file system with a working flock"
        ) from exc


def _try(file: FileIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_mine(wanted: FileIO) -> bool:
    """Whether the calling thread holds this lock."""
    me = threading.get_ident()
    # A copy of the keys is made in one step, whatever other threads do.
    files = [ref() for ref in _held.keyrefs()]
    return any(
        os.path.sameopenfile(wanted.fileno(), file.fileno())
        for file in files
        if file is not None and not file.closed and _held.get(file) == me
    )


def _by_whom(file: FileIO) -> str:
    """Who holds the lock, as far as that can be seen from here."""
    pids = holders_of(os.fstat(file.fileno()))
    return f" by {' and '.join(map(describe, pids))}" if pids else ""
