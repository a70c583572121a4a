"""The folder of a block: in memory where that is possible, and gone with the block.

Whoever has one holds its lock. One whose process was killed is removed by the next.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX = "hostbridge-test-"
# Memory, where that is a folder: a thousand examples wait for no disk.
_QUICK = Path("/dev/shm")  # noqa: S108 - mkdtemp makes the folder in it
# A younger one may not be locked yet.
_OLD_S = 60


@contextmanager
def folder() -> Iterator[Path]:
    """A new folder, as long as the block lasts."""
    place = _QUICK if _QUICK.is_dir() else Path(tempfile.gettempdir())
    _sweep_once(place)
    root = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
    lock = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)
        os.close(lock)


@cache
def _sweep_once(place: Path) -> None:
    sweep(place)


def sweep(place: Path) -> None:
    """Remove the folders whose process was killed."""
    for each in place.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            _remove_if_left(each)


def _remove_if_left(root: Path) -> None:
    lock = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        found = os.fstat(lock)
        is_old = time.time() - found.st_mtime > _OLD_S
        if found.st_uid == os.getuid() and is_old:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(root, ignore_errors=True)
    finally:
        os.close(lock)
