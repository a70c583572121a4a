"""Look at files as they are now: what they are, and the SHA-256 of their bytes.

Only plain files are opened, never a pipe or a device, and nothing waits for one. Of
what lies below a folder no link is followed; a file that was named is read through its
links, as the agent has read it.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import NamedTuple

from bridge.freshness.looks import is_found, left_out
from bridge.policy.made_folders import GIT, is_left_out
from bridge.protocol.digest import sha256_of

MAX_FILES = 20_000
MAX_DEPTH = 64
_MAX_WALKS = 16
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK = 1 << 20
# Behind the name of a program, and of a folder, where all counts: no name ends so.
PROGRAM, FOLDER = "//", "/"
_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFLNK: "link",
    stat.S_IFDIR: "folder",
}
ABSENT = "absent"
_A_SECOND_NS = 1_000_000_000


class Unknowable(Exception):
    """What is there is unknown; `str()` says why."""


class Seen(NamedTuple):
    """What is at a path: `file`, `link`, `folder`, `other` or `absent`.

    While a file has the same `facts` it has the same bytes: the time of its last change
    cannot be set. `changed_ns` is that time, in nanoseconds since 1970.
    """

    kind: str
    facts: str = ""
    changed_ns: int = 0
    is_program: bool = False


class Walked(NamedTuple):
    """What lies below a folder: by path from there, what is at it.

    `changed_ns` is when a name last came or went, in the folder or one below, as late
    as the clock of the file system allows.
    """

    found: dict[str, Seen]
    changed_ns: int


def facts_of(found: os.stat_result) -> str:
    """What changes with the bytes of a file; `host.call_notes` writes the same."""
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"


def seen_of(found: os.stat_result) -> Seen:
    """What a status says of a path."""
    kind = _KINDS.get(stat.S_IFMT(found.st_mode), "other")
    is_program = kind == "file" and bool(found.st_mode & 0o111)
    return Seen(kind, facts_of(found), found.st_ctime_ns, is_program)


def as_late(changed_ns: int) -> int:
    """A time as late as it may be: a file system may know only every other second."""
    return changed_ns + (0 if changed_ns % _A_SECOND_NS else 2 * _A_SECOND_NS)


class Disk:
    """The files of this machine.

    Until `until_s`, on the monotonic clock, they are read; then it is too late.
    """

    def __init__(self, until_s: float = float("inf")) -> None:
        self._until_s = until_s

    def see(self, path: str) -> Seen:
        """What is at a path, links followed.

        Raises:
            Unknowable: the system does not say.
        """
        try:
            path.encode()
            return seen_of(os.stat(path))
        except (FileNotFoundError, NotADirectoryError):
            return Seen(ABSENT)
        except (OSError, ValueError) as exc:
            raise Unknowable(f"{path}: {_why(exc)}") from None

    def digest(self, path: str, kind: str) -> str:
        """The SHA-256 of a file's bytes, or of where a link leads; empty for others.

        Raises:
            Unknowable: it cannot be read, or not in time.
        """
        if kind == "link":
            try:
                return sha256_of(os.fsencode(os.readlink(path)))
            except OSError as exc:
                raise Unknowable(f"{path}: {_why(exc)}") from None
        if kind != "file":
            return ""
        from hashlib import sha256  # of large files the fastest

        digest = sha256()
        for part in self._parts(path):
            digest.update(part)
        return digest.hexdigest()

    def _parts(self, path: str) -> Iterator[bytes]:
        count = 0
        try:
            fd = os.open(path, _READ)
            try:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise Unknowable(f"{path}: it was replaced while it was read")
                while part := os.read(fd, _CHUNK):
                    self._go_on()
                    count += len(part)
                    yield part
                # As in /proc: its status does not change with its bytes.
                if count != os.fstat(fd).st_size:
                    raise Unknowable(f"{path}: it has not as many bytes as it says")
            finally:
                os.close(fd)
        except OSError as exc:
            raise Unknowable(f"{path}: {_why(exc)}") from None

    def walk(self, root: str, patterns: tuple[str, ...], *, is_all: bool) -> Walked:
        """What there is below a folder, or at it if it is a file.

        Left out is what no question is about (`policy.made_folders`), of folders
        unless a pattern names them. With `is_all` folders and programs are marked
        as such; otherwise only files and links count, those that the patterns find.

        Raises:
            Unknowable: there is too much, or some of it cannot be read.
        """
        top = self.see(root)
        if top.kind != "folder":
            return Walked({} if top.kind == ABSENT else {"": top}, 0)
        found: dict[str, Seen] = {}
        newest = as_late(top.changed_ns)
        for path, seen in self._below(root, left_out(patterns)):
            if seen.kind == "folder":
                newest = max(newest, as_late(seen.changed_ns))
                if is_all:
                    found[path + FOLDER] = Seen("folder")
            elif is_all:
                found[path + PROGRAM * seen.is_program] = seen
            elif is_found(patterns, path):
                found[path] = seen
            if len(found) > MAX_FILES:
                raise Unknowable(f"{root}: more than {MAX_FILES:,} files")
        return Walked(found, newest)

    def _below(self, root: str, but: AbstractSet[str]) -> Iterator[tuple[str, Seen]]:
        """All that lies below a folder, by its path from there, but in some folders."""
        waiting = [""]
        while waiting:
            prefix = waiting.pop()
            if prefix.count("/") > MAX_DEPTH:
                raise Unknowable(f"{root}/{prefix}: more than {MAX_DEPTH} folders deep")
            for name, seen in _entries(f"{root.rstrip('/')}/{prefix}"):
                self._go_on()
                is_folder = seen.kind == "folder"
                # Of a linked worktree, `.git` is a file.
                if name in but and (is_folder or name == GIT):
                    continue
                if is_folder:
                    waiting.append(f"{prefix}{name}/")
                yield prefix + name, seen

    def _go_on(self) -> None:
        if time.monotonic() > self._until_s:
            raise Unknowable("it took too long to read")


class OneLook(Disk):
    """The files of this machine as one command sees them: each is looked at once."""

    def __init__(self) -> None:
        super().__init__()
        remember(self, "see", "digest")
        # The last few: each may have twenty thousand names.
        remember(self, "walk", most=_MAX_WALKS)


def remember(of: object, *methods: str, most: int | None = None) -> None:
    """Have methods of an object find out once what each call asks for."""
    for name in methods:
        setattr(of, name, lru_cache(most)(getattr(of, name)))


def _entries(folder: str) -> Iterator[tuple[str, Seen]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if is_left_out(entry.path):
                    continue
                if not entry.name.isascii():
                    _check_text(entry)
                try:
                    yield entry.name, seen_of(entry.stat(follow_symlinks=False))
                except FileNotFoundError:
                    continue
    except FileNotFoundError:
        return
    except OSError as exc:
        raise Unknowable(f"{folder}: {_why(exc)}") from None


def _check_text(entry: os.DirEntry[str]) -> None:
    try:
        entry.name.encode()
    except UnicodeEncodeError:
        raise Unknowable(f"{entry.path!a}: its name is no text") from None


def _why(exc: Exception) -> str:
    return (getattr(exc, "strerror", None) or str(exc)).lower()
