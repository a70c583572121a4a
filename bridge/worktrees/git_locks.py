"""Git's own lock files, taken so that a kill leaves none in anybody's way.

Git changes a file such as `index` by making `index.lock`, which must not be there, and
renaming it. A process that is killed in between leaves the lock, and nobody can tell
whose it was. Here the lock is a hard link to a file of ours, its *mark*:

    .git/hostbridge/worktrees%2Fw%2Findex.lock.mark  =  .git/worktrees/w/index.lock

A lock that is the same file as a mark was ours. Whoever holds our lock on the
repository (`repository.opened`) knows that its maker is gone, and removes both. A lock
of others is waited for, and never removed.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, unquote

from bridge.protocol.wording import in_shell
from bridge.worktrees.refused import RepositoryBusy

# How long a lock of others is waited for.
WAIT_S = 10.0
_POLL_S = 0.02
_MARK = ".mark"
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_STAGE = "stage"


class GitLocks:
    """The locks of one repository; `common` is its git folder, `ours` our own in it."""

    def __init__(self, common: Path, ours: Path) -> None:
        self._common = common
        self._ours = ours

    def recover(self) -> None:
        """Remove what a killed process of ours has left; our lock must be held."""
        for mark in sorted(self._ours.glob(f"*{_MARK}")):
            place = unquote(mark.name.removesuffix(_MARK))
            if _is_lock(place):
                self._unlock(self._common / place, mark)
            mark.unlink(missing_ok=True)
        stage = self._ours / _STAGE
        if os.path.lexists(stage):
            shutil.rmtree(stage)

    def stage(self) -> Path:
        """An empty folder for files that will be moved to where they belong."""
        stage = self._ours / _STAGE
        if os.path.lexists(stage):
            shutil.rmtree(stage)
        stage.mkdir(mode=0o700)
        return stage

    @contextmanager
    def held(self, path: Path) -> Iterator[Held]:
        """Hold git's lock on a file in the git folder, whether it is there or not.

        Raises:
            RepositoryBusy: somebody else held it for the whole waiting time.
        """
        lock = path.with_name(f"{path.name}.lock")
        place = str(lock.relative_to(self._common))
        mark = self._ours / f"{quote(place, safe='')}{_MARK}"
        fd = os.open(mark, _NEW, 0o666)
        try:
            with suppress(FileNotFoundError):
                os.fchmod(fd, stat.S_IMODE(path.lstat().st_mode))
            _link(mark, lock)
            yield Held(fd, lock, path)
        finally:
            os.close(fd)
            self._unlock(lock, mark)
            mark.unlink()

    def _unlock(self, lock: Path, mark: Path) -> None:
        """Remove a lock if it is ours."""
        with suppress(FileNotFoundError, NotADirectoryError):
            if os.path.samestat(lock.lstat(), mark.lstat()):
                lock.unlink()


class Held:
    """A lock that is held: what replaces the file is written into it."""

    def __init__(self, fd: int, lock: Path, path: Path) -> None:
        self._fd = fd
        self._lock = lock
        self._path = path

    def replace(self, data: bytes) -> None:
        """Give the file new bytes, durable; the lock is released by that."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]
        os.fsync(self._fd)
        os.rename(self._lock, self._path)
        sync(self._path.parent)

    def remove(self) -> None:
        """Remove the file, durable; the lock stays until the end."""
        self._path.unlink(missing_ok=True)
        sync(self._path.parent)


def sync(folder: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _link(mark: Path, lock: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while True:
        # Git removes folders of references that have become empty.
        lock.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            try:
                os.link(mark, lock, follow_symlinks=False)
            except FileExistsError:
                if time.monotonic() >= deadline:
                    raise RepositoryBusy(
                        f"{lock} is there: git, or another program, is changing "
                        f"{lock.name.removesuffix('.lock')}; waited {WAIT_S:.3g} s",
                        ways=(
                            f"if none is running, remove it: {in_shell('rm', lock)}",
                        ),
                    ) from None
                time.sleep(_POLL_S)
            else:
                return


def _is_lock(place: str) -> bool:
    """Whether a mark's name can be one that we gave: it came from a file system."""
    parts = place.split("/")
    return place.endswith(".lock") and not {"", ".", ".."} & set(parts)
