"""The store's one lock: a kernel lock, held for milliseconds, never broken by age.

The kernel lets it go when its holder dies, however it dies. A file system without flock
is refused by name: a lock file whose mere existence means "locked" survives its holder.
The lock file itself stays for ever: unlinking it would let a waiter hold the old inode
while a newcomer creates and locks a fresh one, and both would believe they are alone.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from filelock import lock_descriptor

from bridge.errors import StateUnavailable
from bridge.store.folder import NotAPlainFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.store.folder import Folder

LOCK_NAME = "store.lock"
_POLL_S = 0.002
# Whoever holds it again and again lets others have it in between: long enough for one
# that looks every `_POLL_S`, should it be late.
TURN_S = 2.5 * _POLL_S
_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_held: set[int] = set()


class LockBusy(StateUnavailable):
    """Somebody else held the store's lock all the time that one could wait."""


@contextmanager
def locked(state: Folder, *, wait_s: float) -> Iterator[None]:
    """Hold the store's lock for the length of the block.

    Raises:
        LockBusy: not free within `wait_s` seconds.
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
    _held.add(fd)
    try:
        yield
    finally:
        if fd in _held:
            _held.discard(fd)
            # Closing lets go of it: nobody else has this open file description.
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
    deadline = time.monotonic() + wait_s
    try:
        while not lock_descriptor(fd, blocking=False):
            if time.monotonic() >= deadline:
                raise LockBusy(
                    f"{path} is held; waited {wait_s:g} s. See `hostbridge doctor`"
                )
            time.sleep(_POLL_S)
    except OSError as exc:
        raise StateUnavailable(
            f"{path}: cannot be locked ({os.strerror(exc.errno or 0)}); the state "
            "directory must lie on a local file system with a working flock"
        ) from exc


def _let_go_in_child() -> None:
    # A child made by fork shares the lock. Were it to outlive its parent, the lock
    # would outlive its holder.
    while _held:
        os.close(_held.pop())


os.register_at_fork(after_in_child=_let_go_in_child)
