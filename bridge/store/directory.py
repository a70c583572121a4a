"""One directory of the state, and the few ways in which its files may change.

A folder is held open by descriptor, so that no later swap of a path component redirects
what is done in it; links are never followed. A file appears whole or not at all: a
dot-named temporary in the same folder, fsync, then a link (first writer
wins) or a rename. Readers skip dot files and take a vanished file as absent.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

from bridge import own_files
from bridge.errors import StateRefused
from bridge.store.plain_file import FILE, FOLDER

MAX_FILE_BYTES = 256 * 1024 * 1024

# A full or read-only disk can still be read.
_NO_ROOM = frozenset(
    {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT}
)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# A longer file is not kept in memory.
_MAX_KEPT_BYTES = 1 << 20


class KeptFiles:
    """Up to `limit` files of one folder that were read and are kept open, by name.

    A file held open keeps its inode to itself: if the name still leads to it, with the
    same size and times, its bytes are what was read.
    """

    def __init__(self) -> None:
        self.limit = 0
        self._kept: dict[str, tuple[int, os.stat_result, bytes]] = {}

    def add(self, name: str, fd: int, facts: os.stat_result, data: bytes) -> None:
        """Keep what was read from a descriptor, which stays the caller's."""
        if len(self._kept) < self.limit and len(data) <= _MAX_KEPT_BYTES:
            self._kept[name] = (os.dup(fd), facts, data)

    def read_again(self, name: str, dir_fd: int) -> bytes | None:
        """What was read before, if it is the same file still; else None."""
        if name not in self._kept:
            return None
        fd, before, data = self._kept.pop(name)
        if _is_same(name, dir_fd, before):
            self._kept[name] = fd, before, data
            return data
        os.close(fd)
        return None

    def close(self) -> None:
        """Let go of all."""
        for fd, _, _ in self._kept.values():
            os.close(fd)
        self._kept.clear()


def _is_same(name: str, dir_fd: int, before: os.stat_result) -> bool:
    """Whether nothing has happened to a file."""
    try:
        now = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    facts = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
    return all(getattr(now, fact) == getattr(before, fact) for fact in facts)


class NotAPlainFile(OSError):
    """A link, a pipe, a folder, or a file larger than any of ours."""

    cure = "move it away"

    def __init__(self, path: str, problem: str = "not a plain file") -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class Forbidden(NotAPlainFile):
    """This user may not read the file: for example, a program under sudo wrote it."""

    cure = "make it your own and readable, or move it away"


class Folder:
    """A directory held open. Close it, or use it as a context manager.

    One that is `missing`, for this reason, is empty, and cannot be written to.
    """

    def __init__(
        self, fd: int, path: str, missing: FileNotFoundError | None = None
    ) -> None:
        self._fd = fd
        self._missing = missing
        self.path = path
        # It keeps none, unless somebody sets their limit.
        self.kept = KeptFiles()

    @classmethod
    def open(cls, path: str) -> Folder:
        """Open the existing directory at `path`, which may not be a link.

        Raises:
            StateRefused: a link, a pipe or a file lies there.
        """
        return cls(_open_directory(path, path, None), path)

    @property
    def fd(self) -> int:
        """The descriptor; raises why there is none, or why this process may not."""
        own_files.check()
        if self._missing is not None:
            raise self._missing
        return self._fd

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor; may be called more than once."""
        fd, self._fd = self._fd, -1
        self.kept.close()
        if fd >= 0:
            os.close(fd)

    def folder(self, name: str, *, make: bool = True) -> Folder:
        """Open the sub-folder `name`, made on demand (0700, durable).

        If it is not to be made, or cannot be, readers get an empty folder, and writers
        get an error.

        Raises:
            StateRefused: a link, a pipe or a file lies there.
        """
        path = f"{self.path}/{name}"
        try:
            return Folder(_open_directory(name, path, self.fd), path)
        except FileNotFoundError as exc:
            if not make:
                return Folder(-1, path, missing=exc)
        try:
            os.mkdir(name, 0o700, dir_fd=self.fd)
            self.sync()
        except FileExistsError:
            pass
        except OSError as exc:
            if exc.errno not in _NO_ROOM:
                raise
            # Its number says why; to readers the folder is just not there.
            missing = FileNotFoundError(exc.errno, exc.strerror, path)
            return Folder(-1, path, missing=missing)
        return Folder(_open_directory(name, path, self.fd), path)

    def names(self, suffix: str = ".json") -> list[str]:
        """Names of the visible files that end in `suffix`, without it, in no order."""
        end = -len(suffix)
        with suppress(FileNotFoundError):
            listed = os.listdir(self.fd)
            return [n[:end] for n in listed if n.endswith(suffix) and n[0] != "."]
        return []

    def entries(self) -> Iterator[os.DirEntry[str]]:
        """Every entry, temporaries included."""
        with suppress(FileNotFoundError), os.scandir(self.fd) as found:
            yield from found

    def has(self, name: str) -> bool:
        """Whether anything is called `name`."""
        return self.facts(name) is not None

    def facts(self, name: str) -> os.stat_result | None:
        """What `name` is, links not followed; None if there is nothing."""
        try:
            return os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read(self, name: str, max_bytes: int = MAX_FILE_BYTES) -> bytes | None:
        """The bytes of a file; None when there is none.

        One that was kept, and is the same file still, is not read again.

        Raises:
            NotAPlainFile: it is something else, or larger than `max_bytes`.
            Forbidden: this user may not read it.
            OSError: EIO with the full path, so that the message can name the file.
        """
        try:
            return self._read(name, max_bytes)
        except OSError as exc:
            if exc.errno != errno.EIO:
                raise
            path = f"{self.path}/{name}"
            raise OSError(exc.errno, exc.strerror, path) from exc

    def _read(self, name: str, max_bytes: int) -> bytes | None:
        kept = None if self._missing else self.kept.read_again(name, self.fd)
        if kept is not None and len(kept) <= max_bytes:
            return kept
        try:
            fd = os.open(name, FILE, dir_fd=self.fd)
        except FileNotFoundError:
            return None
        except OSError as exc:
            facts = self.facts(name)
            if facts is None:
                return None
            path = f"{self.path}/{name}"
            if not stat.S_ISREG(facts.st_mode):
                raise NotAPlainFile(path) from exc
            # EIO concerns this file; any other error concerns the machine.
            if exc.errno in (errno.EACCES, errno.EPERM):
                raise Forbidden(path, os.strerror(exc.errno)) from exc
            raise
        try:
            facts = os.fstat(fd)
            if not stat.S_ISREG(facts.st_mode):
                raise NotAPlainFile(f"{self.path}/{name}")
            if facts.st_size > max_bytes:
                problem = f"{facts.st_size} bytes, over {max_bytes}"
                raise NotAPlainFile(f"{self.path}/{name}", problem)
            data = _read_all(fd, facts.st_size)
            self.kept.add(name, fd, facts, data)
            return data
        finally:
            os.close(fd)

    def create(self, name: str, data: bytes) -> None:
        """Make `name` with `data`, durable on return.

        Raises:
            FileExistsError: the name is taken; what is there stays as it is.
        """
        self.publish(self.prepare(name, data), name)
        self.sync()

    def publish(self, temporary: str, name: str) -> None:
        """Give a prepared file its name, once; the temporary is gone on return.

        Raises:
            FileExistsError: the name is taken; what is there stays as it is.
        """
        try:
            os.link(
                temporary,
                name,
                src_dir_fd=self.fd,
                dst_dir_fd=self.fd,
                follow_symlinks=False,
            )
        finally:
            # The name is given: a temporary that stays behind is no error, prune
            # removes it.
            with suppress(OSError):
                self.remove(temporary)

    def replace(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Make `name` hold `data`, whatever it held; the name is durable if asked.

        The data is durable before it has the name, always: a power cut leaves the old
        file or the new one, never an empty one.
        """
        self.rename(self.prepare(name, data), name)
        if durable:
            self.sync()

    def replace_unsynced(self, name: str, data: bytes) -> None:
        """Make `name` hold `data`; a power cut may leave it empty. Never waits."""
        self.rename(self.prepare(name, data, durable=False), name)

    def rename(self, temporary: str, name: str) -> None:
        """Give a prepared file its name, over any other; remove it if that fails."""
        try:
            os.rename(temporary, name, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        except OSError:
            with suppress(OSError):
                self.remove(temporary)
            raise

    def move(self, name: str, target: Folder, as_name: str | None = None) -> None:
        """Move a file to another folder, over whatever has the name there."""
        os.rename(name, as_name or name, src_dir_fd=self.fd, dst_dir_fd=target.fd)

    def remove(self, name: str) -> bool:
        """Unlink a file; False when it was not there."""
        try:
            os.unlink(name, dir_fd=self.fd)
        except FileNotFoundError:
            return False
        return True

    def clear(self, name: str) -> None:
        """Remove a file, or a folder that was put in its place; no link is followed."""
        facts = self.facts(name)
        if facts is not None and stat.S_ISDIR(facts.st_mode):
            import shutil  # hooks import this module

            shutil.rmtree(name, ignore_errors=True, dir_fd=self.fd)
        else:
            self.remove(name)

    def touch(self, name: str) -> bool:
        """Make an empty file; False when the name is taken."""
        try:
            os.close(os.open(name, _NEW, 0o600, dir_fd=self.fd))
        except FileExistsError:
            return False
        return True

    def beat(self, name: str) -> None:
        """Make an empty file, or set the time of the existing one to now.

        A link's own time is set, not its target's.
        """
        if not self.touch(name):
            with suppress(FileNotFoundError):
                os.utime(name, dir_fd=self.fd, follow_symlinks=False)

    def touch_at(self, name: str, changed_ns: int) -> None:
        """Make an empty file with that time, or set the time of the existing one."""
        self.touch(name)
        with suppress(FileNotFoundError):
            times = (changed_ns, changed_ns)
            os.utime(name, ns=times, dir_fd=self.fd, follow_symlinks=False)

    def sync(self) -> None:
        """Make the names in this folder durable."""
        os.fsync(self.fd)

    def prepare(self, name: str, data: bytes, *, durable: bool = True) -> str:
        """Write a temporary for `name`, its data durable; returns its name."""
        temporary = f".{name[:100]}.{os.urandom(6).hex()}.tmp"
        fd = os.open(temporary, _NEW, 0o600, dir_fd=self.fd)
        try:
            try:
                _write_all(fd, data)
                if durable:
                    os.fsync(fd)
            finally:
                os.close(fd)
        except BaseException:
            with suppress(OSError):
                self.remove(temporary)
            raise
        return temporary


def _open_directory(name: str, path: str, dir_fd: int | None) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=dir_fd)
    except OSError as exc:
        # A link is ENOTDIR on Linux and ELOOP on macOS.
        if exc.errno in (errno.ENOTDIR, errno.ELOOP):
            raise StateRefused(
                Path(path),
                "not a folder of its own",
                "remove it; hostbridge follows no link",
            ) from None
        raise


def _read_all(fd: int, size: int) -> bytes:
    data = os.read(fd, size + 1)
    if len(data) == size:
        return data
    # It grew or shrank meanwhile, or the kernel gave less than it was asked for.
    parts = [data]
    while part := os.read(fd, 1 << 20):
        parts.append(part)
        if sum(map(len, parts)) > MAX_FILE_BYTES:
            break
    return b"".join(parts)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
