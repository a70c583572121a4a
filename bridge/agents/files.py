"""Read the files of a definition: once, bounded, and for a project never outside it.

What was read is what is digested, checked, shown and run. A definition of a project
names files in its own folder only, and no link leads out of it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

MAX_BYTES = 256 * 1024
# Of a model that a project brings, all of which is digested before it is used.
MAX_MODEL_BYTES = 16 << 30


class Unreadable(Exception):
    """The file cannot be read; `str()` says why, without the path."""


def resolve_path(base: Path, relative: str) -> Path:
    """The absolute path that a definition in the folder `base` names by `relative`.

    `~` is the user's home. Links are left as they are.

    Raises:
        Unreadable: it names no place: the home of nobody, or none that can be written.
    """
    if "\0" in relative:
        raise Unreadable("a path holds no NUL")
    try:
        path = Path(base, Path(relative).expanduser())
    except RuntimeError:
        raise Unreadable("nobody's home: there is no such user") from None
    return Path(os.path.abspath(path))


def stays_inside(path: Path, folder: Path) -> bool:
    """Whether a path, links followed, lies in a folder."""
    real, around = os.path.realpath(path), os.path.realpath(folder)
    return real.startswith(around + os.sep)


def read_bytes(path: Path, *, follow_links: bool = True) -> bytes:
    """The bytes of a plain file.

    Raises:
        Unreadable: it is none, or larger than `MAX_BYTES`.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(path, flags | (0 if follow_links else os.O_NOFOLLOW))
    except OSError as exc:
        if not follow_links and path.is_symlink():
            raise Unreadable(
                "a link; the files of a project stand by themselves"
            ) from None
        raise Unreadable((exc.strerror or str(exc)).lower()) from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Unreadable("not a plain file")
        with open(fd, "rb", closefd=False) as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as exc:
        raise Unreadable((exc.strerror or str(exc)).lower()) from None
    finally:
        os.close(fd)
    if len(data) > MAX_BYTES:
        raise Unreadable(f"larger than {MAX_BYTES // 1024} KiB")
    return data


def digest_of_model(path: Path) -> str:
    """The SHA-256 of a whole model file, whatever its size.

    Raises:
        Unreadable: it is no plain file, or too large to be read at each look.
    """
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as f:
            facts = os.fstat(f.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise Unreadable("not a plain file")
            if facts.st_size > MAX_MODEL_BYTES:
                raise Unreadable(
                    f"larger than {MAX_MODEL_BYTES >> 30} GiB; move it to the models "
                    "folder of your own, ~/.hostbridge/models"
                )
            return hashlib.file_digest(f, "sha256").hexdigest()
    except OSError as exc:
        raise Unreadable((exc.strerror or str(exc)).lower()) from None


def text_of(data: bytes) -> str:
    """UTF-8, without a byte order mark.

    Raises:
        Unreadable: it is not UTF-8; says on which line.
    """
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise Unreadable(
            f"expected UTF-8, got byte 0x{data[exc.start]:02x} on line {line}"
        ) from None


@dataclass(slots=True)
class Reader:
    """Reads what one definition names, and remembers what it was.

    Attributes:
        folder: where the definition lies; what it names is told from there.
        is_confined: nothing outside the folder may be named.
        home: the user's `~/.hostbridge`, where models lie; None where that is unknown.
    """

    folder: Path
    is_confined: bool
    home: Path | None = None
    digests: dict[Path, str] = field(default_factory=dict)

    def read(self, path: Path) -> str:
        """The text of a file that the definition names; raises `Unreadable`."""
        if self.is_confined and not stays_inside(path, self.folder):
            raise Unreadable(f"leaves {self.folder}, where all of it must lie")
        data = read_bytes(path, follow_links=not self.is_confined)
        return self.note(path, data)

    def note(self, path: Path, data: bytes, *, is_strict: bool = True) -> str:
        """Remember what a file held; its text, which must be UTF-8 if `is_strict`."""
        self.digests[path] = hashlib.sha256(data).hexdigest()
        if not is_strict:
            return data.decode("utf-8", "replace").removeprefix("\ufeff")
        return text_of(data)

    def note_model(self, path: Path) -> None:
        """Remember what a model of a project held: its template is run as well.

        One that is not there is none of the project's: it may be the user's own.

        Raises:
            Unreadable: as `digest_of_model`.
        """
        if self.is_confined and os.path.lexists(path):
            self.digests[path] = digest_of_model(path)

    @property
    def digest(self) -> str:
        """One digest over all that was read, names included."""
        whole = hashlib.sha256()
        for path, digest in sorted(self.digests.items()):
            name = os.path.relpath(path, self.folder)
            whole.update(f"{digest} {name}\n".encode("utf-8", "surrogateescape"))
        return whole.hexdigest()
