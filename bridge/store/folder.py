"""One directory of the state, and the few ways in which its files may change.

A folder is held open by descriptor, so that no later swap of a path component redirects
what is done in it; links are never followed. A file appears whole or not at all: a
dot-named temporary in the same folder, fsync, then a link (first writer wins) or a rename.
Readers skip dot files and take a vanished file as absent.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

MAX_FILE_BYTES = 256 * 1024 * 1024

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO that somebody put there must not wait for its other end.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotAPlainFile(OSError):
    """What lies there is a link, a pipe, a folder, or larger than any file of ours."""


class Folder:
    """A directory held open. Close it, or use it as a context manager."""

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path

    @classmethod
    def open(cls, path: str) -> Folder:
        """Open the existing directory at `path`, which may not be a link."""
        return cls(os.open(path, _DIRECTORY), path)

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the descriptor go; more than once does no harm."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def folder(self, name: str) -> Folder:
        """Open the sub-folder `name`, made on demand (0700)."""
        path = f"{self.path}/{name}"
        try:
            return Folder(os.open(name, _DIRECTORY, dir_fd=self.fd), path)
        except FileNotFoundError:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=self.fd)
        return Folder(os.open(name, _DIRECTORY, dir_fd=self.fd), path)

    def names(self, suffix: str = ".json") -> list[str]:
        """Names of the visible files that end in `suffix`, without it, in no order."""
        cut = -len(suffix)
        return [
            name[:cut]
            for name in os.listdir(self.fd)
            if name.endswith(suffix) and name[0] != "."
        ]

    def entries(self) -> Iterator[os.DirEntry[str]]:
        """Every entry, temporaries included."""
        with os.scandir(self.fd) as found:
            yield from found

    def has(self, name: str) -> bool:
        """Whether anything at all lies under `name`."""
        return self.facts(name) is not None

    def facts(self, name: str) -> os.stat_result | None:
        """What lies under `name`, links not followed; None for nothing."""
        try:
            return os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read(self, name: str, max_bytes: int = MAX_FILE_BYTES) -> bytes | None:
        """The bytes of a file; None when there is none.

        Raises:
            NotAPlainFile: it is something else, or larger than `max_bytes`.
        """
        try:
            fd = os.open(name, _READ, dir_fd=self.fd)
        except FileNotFoundError:
            return None
        except OSError as exc:
            facts = self.facts(name)
            if facts is None:
                return None
            if stat.S_ISREG(facts.st_mode):
                raise
            raise NotAPlainFile(f"{self.path}/{name}: not a plain file") from exc
        with open(fd, "rb") as file:  # noqa: PTH123 - by descriptor, never by path
            facts = os.fstat(fd)
            if not stat.S_ISREG(facts.st_mode):
                raise NotAPlainFile(f"{self.path}/{name}: not a plain file")
            if facts.st_size > max_bytes:
                raise NotAPlainFile(
                    f"{self.path}/{name}: {facts.st_size} bytes, over {max_bytes}"
                )
            return file.read(max_bytes)

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
            os.link(temporary, name, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        finally:
            self.remove(temporary)

    def replace(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Make `name` hold `data`, whatever it held; its name durable if asked."""
        temporary = self.prepare(name, data)
        try:
            os.rename(temporary, name, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        except OSError:
            self.remove(temporary)
            raise
        if durable:
            self.sync()

    def move(self, name: str, target: Folder, as_name: str | None = None) -> None:
        """Move a file to another folder, over whatever has the name there."""
        os.rename(
            name, as_name or name, src_dir_fd=self.fd, dst_dir_fd=target.fd
        )

    def remove(self, name: str) -> bool:
        """Unlink a file; False when it was not there."""
        try:
            os.unlink(name, dir_fd=self.fd)
        except FileNotFoundError:
            return False
        return True

    def touch(self, name: str) -> bool:
        """Make an empty file; False when the name is taken."""
        try:
            os.close(os.open(name, _NEW, 0o600, dir_fd=self.fd))
        except FileExistsError:
            return False
        return True

    def append(self, name: str, line: bytes) -> None:
        """Add one line to a log of ours, in one write.

        A log that is not a plain file with one name is moved aside first: what is
        appended through a hard link would land in somebody else's file.
        """
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        facts = self.facts(name)
        if facts and not (stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1):
            self.move(name, self, f"{name}.aside-{secrets.token_hex(4)}")
        fd = os.open(name, flags | os.O_NONBLOCK, 0o600, dir_fd=self.fd)
        try:
            os.write(fd, line)
        finally:
            os.close(fd)

    def sync(self) -> None:
        """Make the names in this folder durable."""
        os.fsync(self.fd)

    def prepare(self, name: str, data: bytes) -> str:
        """Write a durable temporary for `name`; returns its name."""
        temporary = f".{name[:100]}.{secrets.token_hex(6)}.tmp"
        fd = os.open(temporary, _NEW, 0o600, dir_fd=self.fd)
        try:
            with open(fd, "wb") as file:  # noqa: PTH123 - by descriptor, never by path
                file.write(data)
                file.flush()
                os.fsync(fd)
        except BaseException:
            self.remove(temporary)
            raise
        return temporary
