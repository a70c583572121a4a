"""Read the files of a definition: once, bounded, and in a project only its own.

What was read is what is digested, checked, shown and run. A project's definition can
only use files in its own folder, and no link leads out of it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.errors import reason_of
from bridge.protocol.digest import sha256_of

if TYPE_CHECKING:
    from io import FileIO

MAX_BYTES = 256 * 1024
# For a model that a project brings, which is digested as a whole before each use.
MAX_MODEL_BYTES = 16 << 30
# In `~/.hostbridge/`: its models can be used by name in every definition.
MODELS_FOLDER = "models"


class Unreadable(Exception):
    """A file cannot be read; `why` says it without the path."""

    def __init__(self, file: object, why: str) -> None:
        super().__init__(f"{file}: {why}")
        self.why = why


def place_in(folder: Path, file: Path) -> Path | None:
    """Where in a folder a file lies, whatever links lead there; None if elsewhere."""
    for each in (file, Path(os.path.realpath(file))):
        is_there = folder.is_dir() and each.parent.is_dir()
        if is_there and os.path.samefile(each.parent, folder):
            return folder / each.name
    return None


def read_bytes(
    path: Path, *, follow_links: bool = True, most: int = MAX_BYTES
) -> bytes:
    """The bytes of a plain file.

    Raises:
        Unreadable: it is not one, or has more than `most` bytes.
    """
    if not follow_links and path.is_symlink():
        raise Unreadable(path, "is a link; a project must bring the file itself")
    with open_plain(path, follow_links=follow_links) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise Unreadable(path, f"larger than {most // 1024} KiB")
    return data


def as_parsed(text: str) -> str:
    """A text with the line ends of every system the same, and no byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def digest_of_model(path: Path) -> str:
    """The SHA-256 of a whole model file.

    Raises:
        Unreadable: it is not a plain file, or too large to be read at each use.
    """
    import hashlib

    with open_plain(path) as file:
        if os.fstat(file.fileno()).st_size > MAX_MODEL_BYTES:
            raise Unreadable(
                path,
                f"larger than {MAX_MODEL_BYTES >> 30} GiB; move it to your own models "
                "folder, ~/.hostbridge/models",
            )
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def open_plain(path: Path, *, follow_links: bool = True) -> Iterator[FileIO]:
    """A plain file, open for reading; a pipe cannot block it.

    Raises:
        Unreadable: it is not a plain file, or cannot be read.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    flags |= 0 if follow_links else os.O_NOFOLLOW
    try:
        fd = os.open(path, flags)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise Unreadable(path, "not a plain file")
        with open(fd, "rb", buffering=0) as file:
            yield file
    except OSError as exc:
        raise Unreadable(path, reason_of(exc)) from None


class Reader:
    """Reads the files that one definition names, and keeps their digests.

    Attributes:
        folder: the definition's folder; the paths in it are relative to that.
        is_confined: it can use no file outside the folder.
        home: the user's `~/.hostbridge`, which has a folder of models; None if unknown.
    """

    def __init__(
        self, folder: Path, *, is_confined: bool, home: Path | None = None
    ) -> None:
        self.folder = folder
        self.is_confined = is_confined
        self.home = home
        self.digests: dict[Path, str] = {}

    def resolve(self, named: str) -> Path:
        """The absolute path of a file that the definition names; `~` is expanded.

        Raises:
            Unreadable: it is not a path, or leaves a folder that confines it.
        """
        if "\0" in named:
            raise Unreadable(repr(named), "a path cannot contain NUL")
        try:
            path = Path(os.path.abspath(self.folder / Path(named).expanduser()))
        except RuntimeError:
            raise Unreadable(repr(named), "there is no such user") from None
        inside = os.path.realpath(self.folder) + os.sep
        if self.is_confined and not os.path.realpath(path).startswith(inside):
            raise Unreadable(path, f"is outside {self.folder}; move it there")
        return path

    def read(self, path: Path) -> str:
        """The text of a file at a path that `resolve` gave.

        Raises:
            Unreadable: as `read_bytes`, or it is not UTF-8.
        """
        return self.note(path, read_bytes(path, follow_links=not self.is_confined))

    def note(self, path: Path, data: bytes, *, is_strict: bool = True) -> str:
        """Keep the digest of a file; its text, without a byte order mark.

        Raises:
            Unreadable: `is_strict`, and it is not UTF-8.
        """
        self.digests[path] = sha256_of(data)
        try:
            text = data.decode("utf-8", "strict" if is_strict else "replace")
        except UnicodeDecodeError as exc:
            line = data.count(b"\n", 0, exc.start) + 1
            byte = f"0x{data[exc.start]:02x}"
            why = f"expected UTF-8, got byte {byte} on line {line}"
            raise Unreadable(path, why) from None
        return text.removeprefix("\ufeff")

    def note_model(self, path: Path) -> None:
        """Keep the digest of a model that a project brings: its template runs, too.

        One that does not exist there is not the project's, but may be the user's own.

        Raises:
            Unreadable: as `digest_of_model`.
        """
        if self.is_confined and os.path.lexists(path):
            self.digests[path] = digest_of_model(path)

    @property
    def digest(self) -> str:
        """One digest over all files that were read, and their names."""
        whole = "".join(
            f"{digest} {os.path.relpath(path, self.folder)}\n"
            for path, digest in sorted(self.digests.items())
        )
        return sha256_of(whole.encode("utf-8", "surrogateescape"))


def model_places(named: str, beside: Path, models: Path) -> list[Path]:
    """The possible paths of a model file; the first that exists counts.

    `beside` is the folder of the definition, `models` that of the user's models. Once a
    definition is read, it has an absolute path. If no file is there, its file name is
    searched for in `models`.
    """
    path = Path(os.path.expanduser(named))
    return list(dict.fromkeys([beside / path, models / path, models / path.name]))
