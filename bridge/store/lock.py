"""The store's one lock: a kernel lock, held for milliseconds, never broken by age.

The kernel lets it go when its holder dies, however it dies. A file system without flock
is refused by name: a lock file whose mere existence means "locked" survives its holder.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from bridge.errors import StateUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.store.folder import Folder

LOCK_NAME = "store.lock"
_POLL_S = 0.002


@contextmanager
def locked(state: Folder, *, wait_s: float) -> Iterator[None]:
    """Hold the store's lock for the length of the block.

    Raises:
        StateUnavailable: not free within `wait_s` seconds, or flock does not work here.
    """
    with state.folder("locks") as folder:
        path = f"{folder.path}/{LOCK_NAME}"
        lock = FileLock(
            path,
            timeout=wait_s,
            mode=0o600,
            poll_interval=_POLL_S,
            fallback_to_soft=False,
        )
        try:
            lock.acquire()
        except Timeout:
            raise StateUnavailable(
                f"{path} is held; waited {wait_s:g} s. See `hostbridge doctor`"
            ) from None
        except OSError as exc:
            raise StateUnavailable(
                f"{path}: cannot be locked ({os.strerror(exc.errno or 0)}); the state "
                "directory must lie on a local file system with a working flock"
            ) from exc
    try:
        yield
    finally:
        lock.release()
