"""Read and replace the files of one project, and no others.

A path from a model is data. Paths with `..`, paths and links that lead out, and places
of secrets are refused. Only plain files are opened, never a pipe or a device, and only
the file that was checked: if a link has replaced it or a folder above it since then,
it is refused.
"""

import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from bridge.change.secrets import is_secret
from bridge.policy.globs import finds
from bridge.policy.made_folders import MADE
from bridge.store.plain_file import open_beneath
from bridge.store.real_path import real_path

MAX_FILE_BYTES = 8 * 1024 * 1024
MAX_LISTED = 20_000
_HEAD_BYTES = 8192
# How deep folders may be nested: each stays open while those in it are walked.
MAX_DEPTH = 64

# Of a path that a model gives.
PATH_SCHEMA: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 200}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Refused(ValueError):
    """The path may not be read, or written, or nothing is there; it says why."""


class LeftOff(Refused):
    """The search ended early: there may be more than it found."""


class Project:
    """A folder whose files may be read.

    Attributes:
        root: its real path.
        bytes_read: how much of its files has been read.
    """

    def __init__(
        self, root: Path, *, is_over: Callable[[], bool] = lambda: False
    ) -> None:
        """`is_over` is called for each file that is walked and before each command."""
        self.root = Path(os.path.realpath(root))
        self.bytes_read = 0
        self._is_over = is_over

    def find(self, path: str) -> Path:
        """The real path of `path`, which is relative to the project.

        Raises:
            Refused: it leads out of the project, to a secret, or nowhere.
        """
        real = self.locate(path)
        if not os.path.exists(real):
            raise Refused(f"{path!r} does not exist")
        return real

    def locate(self, path: str) -> Path:
        """The real path of `path`, whether anything is there or not.

        Raises:
            Refused: it leads out of the project, or to a secret.
        """
        if _CONTROL.search(path):
            raise Refused("a path holds no control characters")
        asked = PurePosixPath(path or ".")
        if asked.is_absolute():
            if not asked.is_relative_to(self.root):
                raise Refused(f"{path!r} lies outside the project")
            asked = asked.relative_to(self.root)
        if ".." in asked.parts:
            raise Refused(f"{path!r} leads out of the project: `..` is refused")
        try:
            real = Path(real_path(str(self.root / asked)))
        except OSError as exc:
            raise Refused(f"{path!r}: {exc.strerror}") from None
        if not real.is_relative_to(self.root):
            raise Refused(f"{path!r} is a link that leads out of the project")
        if is_secret(asked.parts) or is_secret(real.relative_to(self.root).parts):
            raise Refused(f"{path!r} may hold secrets: it is neither read nor written")
        return real

    def has(self, path: str) -> bool:
        """Whether a path in a command, which need not exist, stays in the project."""
        return Path(self.real(path)).is_relative_to(self.root)

    def real(self, path: str) -> str:
        """The real absolute path of a path that is relative to the project."""
        return real_path(str(self.root / path))

    def read(self, path: str, max_bytes: int = MAX_FILE_BYTES) -> str:
        """The text of a file.

        Raises:
            Refused: as `find`; or it is not a plain file, too large, or binary.
        """
        return self.read_bytes(path, max_bytes).decode("utf-8", "replace")

    def read_bytes(self, path: str, max_bytes: int = MAX_FILE_BYTES) -> bytes:
        """The content of a file; raises as `read`."""
        return self._bytes(self.find(path), path, max_bytes)

    def replace(self, path: str, data: bytes) -> bool:
        """Make a file of this content, or replace it whole; whether it is new.

        Missing folders are made. A file that is replaced keeps its permissions.

        Raises:
            Refused: as `find`, but that nothing need be there; or it is not a plain
                file, or the system refuses; nothing was written then.
        """
        self.go_on()
        real = self.locate(path)
        if real == self.root:
            raise Refused(f"{path!r} is a folder")
        folder = self._made(real.parent, path)
        try:
            return _replaced(folder, real.name, data)
        except OSError as exc:
            raise Refused(f"{path!r}: {exc.strerror}") from None
        except _NotPlain as exc:
            raise Refused(f"{path!r} {exc}") from None
        finally:
            os.close(folder)

    def _made(self, folder: Path, path: str) -> int:
        """A descriptor of a folder below the project, which is made if missing."""
        parts = folder.relative_to(self.root).parts
        for depth, name in enumerate(parts):
            above = self._open(self.root.joinpath(*parts[:depth]), path, is_folder=True)
            try:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=above)
            except OSError as exc:
                raise Refused(f"{path!r}: {exc.strerror}") from None
            finally:
                os.close(above)
        return self._open(folder, path, is_folder=True)

    def files(self, folder: str = ".", pattern: str = "*") -> Iterator[str]:
        """Paths of the files below `folder`, in order, relative to the project.

        `pattern` is matched against the name at any depth or, if it has a slash,
        against the path in the project: `*` stays in one folder, `**/` is any number of
        folders (`bridge.policy.globs.finds`). Left out are folders that tools make,
        places of secrets, links, names that are no line of text, and everything deeper
        than `MAX_DEPTH`.

        Raises:
            Refused: as `find`, for the folder; or no time is left.
            LeftOff: there are more than `MAX_LISTED` files and folders.
        """
        top = self.find(folder)
        if not top.is_dir():
            raise Refused(f"{folder!r} is not a folder")
        fd = self._open(top, folder, is_folder=True)
        try:
            yield from self._walked(fd, top, pattern)
        finally:
            os.close(fd)

    def _walked(self, fd: int, top: Path, pattern: str) -> Iterator[str]:
        seen = 0
        for where, folders, names, here in os.fwalk(dir_fd=fd):
            self._go_on_from(seen)
            folders[:] = sorted(n for n in folders if n not in MADE)
            folders[:] = [n for n in folders if not is_secret((n,))]
            if where.count(os.sep) >= MAX_DEPTH:
                folders.clear()
            # Folders count, too: all of them may be empty.
            seen += 1
            for name in sorted(names):
                seen += 1
                self._go_on_from(seen)
                relative = str((top / where / name).relative_to(self.root))
                is_open = not is_secret((name,)) and not _is_link(name, here)
                if is_open and _is_one_line(relative) and finds(pattern, relative):
                    yield relative

    def _go_on_from(self, seen: int) -> None:
        self.go_on()
        if seen > MAX_LISTED:
            raise LeftOff(
                f"only the first {MAX_LISTED:,} files and folders were looked at; "
                "name a folder"
            )

    def go_on(self) -> None:
        """Check that the run is not over.

        Raises:
            Refused: it was cancelled, or its deadline has passed.
        """
        if self._is_over():
            raise Refused("the run is over: no time is left")

    def _open(self, real: Path, path: str, *, is_folder: bool = False) -> int:
        """Open exactly what `find` found."""
        parts = real.relative_to(self.root).parts
        try:
            return open_beneath(self.root, parts, is_folder=is_folder)
        except OSError as exc:
            if exc.errno in (errno.ELOOP, errno.ENOTDIR):
                raise Refused(
                    f"{path!r} was replaced while it was being read"
                ) from None
            raise Refused(f"{path!r}: {exc.strerror}") from None

    def _bytes(self, real: Path, path: str, max_bytes: int) -> bytes:
        fd = self._open(real, path)
        facts = os.fstat(fd)
        if problem := _not_to_read(facts, max_bytes):
            os.close(fd)
            raise Refused(f"{path!r} {problem}")
        with open(fd, "rb") as file:
            # Most binary files can be recognized by their beginning.
            data = file.read(_HEAD_BYTES)
            self.bytes_read += len(data)
            if b"\0" in data:
                raise Refused(f"{path!r} is binary")
            rest = file.read(max(0, max_bytes + 1 - len(data)))
            self.bytes_read += len(rest)
            return data + rest


class _NotPlain(Exception):
    """There is something that is not a plain file."""


def _replaced(folder: int, name: str, data: bytes) -> bool:
    """Rename a new file over `name`; whether there was none."""
    mode = _mode_of(folder, name)
    temporary = f".{name[:100]}.{secrets.token_hex(4)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o666, dir_fd=folder)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            if mode is not None:
                os.fchmod(fd, mode)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    return mode is None


def _mode_of(folder: int, name: str) -> int | None:
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if problem := _not_to_read(facts, facts.st_size):
        raise _NotPlain(problem)
    return stat.S_IMODE(facts.st_mode)


def _not_to_read(facts: os.stat_result, max_bytes: int) -> str:
    if stat.S_ISDIR(facts.st_mode):
        return "is a folder"
    if not stat.S_ISREG(facts.st_mode):
        return "is not a plain file"
    if facts.st_size > max_bytes:
        return f"is too large: {facts.st_size:,} bytes, over {max_bytes:,}"
    return ""


def _is_link(name: str, folder_fd: int) -> bool:
    try:
        facts = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except OSError:
        return True
    return stat.S_ISLNK(facts.st_mode)


def _is_one_line(relative: str) -> bool:
    """Whether a path is one line of text."""
    try:
        relative.encode()
    except UnicodeEncodeError:
        return False
    return _CONTROL.search(relative) is None
