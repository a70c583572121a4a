"""The files of a project as a clone has them: what a lock is written from, and checked.

Only what git knows counts, where there is a repository. A lock may come from anybody:
no link is followed, and nothing outside of the project is looked at.
"""

from __future__ import annotations

import errno
import os
import stat
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.change.project_files import stat_at, text_at
from bridge.errors import InvalidRequest
from bridge.freshness.disk import (
    ABSENT,
    MAX_FILES,
    PROGRAM,
    Disk,
    Unknowable,
    remember,
    seen_of,
)
from bridge.freshness.lock_file import digest_of_names
from bridge.freshness.looks import is_found
from bridge.freshness.repository import folders_of
from bridge.policy.made_folders import MADE, is_left_out
from bridge.store.plain_file import open_beneath

if TYPE_CHECKING:
    from bridge.change.collect import KnownFiles

MAX_FILE_BYTES = 1 << 30
# For all that is in a lock, together.
MAX_WALKED = 10 * MAX_FILES
MAX_BYTES = 8 << 30
# Characters of names that are compared with patterns: a minute or so.
_MAX_STEPS = 1_000_000_000
_TOO_MUCH = {
    "files": f"the folders in this lock have more than {MAX_WALKED:,} files",
    "bytes": f"the files in this lock have more than {MAX_BYTES:,} bytes",
    "steps": "the patterns in this lock take too long to compare with the files",
}
_CHUNK = 1 << 20


class Checkout:
    """The files of a project that a clone of it has, too; but for the lock itself.

    `yours` are folders outside of it that no clone has, and no lock mentions. Each file
    and folder is looked at once, and the work is bounded, whatever a lock asks for.
    """

    def __init__(self, project: Path, lock: Path, yours: Iterable[Path] = ()) -> None:
        self.root = Path(os.path.realpath(project))
        self.yours = tuple(os.path.realpath(folder) for folder in yours)
        self.git_folders = folders_of(str(self.root))
        self._lock = os.path.relpath(os.path.realpath(lock), self.root)
        self._git = _files_of(self.root)
        # With an empty index, the project's files are not distinct from ignored ones.
        self._known = (self._git and self._git.known) or None
        self._sorted = None if self._known is None else sorted(self._known)
        self._walked_in: dict[str, list[str]] = {}
        remember(self, "state_of", "list_digest", "_facts")
        self._left = {"files": MAX_WALKED, "bytes": MAX_BYTES, "steps": _MAX_STEPS}

    def has(self, path: str) -> bool:
        """Whether a clone has a file."""
        return self._known is None or path in self._known

    def lacks(self, path: str) -> bool:
        """Whether a clone lacks a file, though git does not ignore it."""
        if self._git is None or self.has(path):
            return False
        cuts = [at + 1 for at, sign in enumerate(path) if sign == "/"]
        # Below what is in the index there is another repository.
        if any(path[: cut - 1] in self._git.known for cut in cuts):
            return True
        return any(path[:cut] in self._git.new for cut in [*cuts, len(path)])

    def state_of(self, path: str) -> tuple[str, str]:
        """What is at a path, and its digest: `file`, `link`, `absent` or another."""
        kind = self._kind(path)
        try:
            if kind == "link":
                target = text_at(self.root, os.fsencode(path), 0)
                return "link", sha256(target or b"").hexdigest()
            if kind == "file":
                return "file", self._digest(path)
        except OSError as exc:
            return ("absent" if exc.errno == errno.ENOENT else "other"), ""
        return kind, ""

    def list_digest(
        self, folder: str, patterns: tuple[str, ...], *, is_all: bool
    ) -> str:
        """The digest of `names`; raises as that."""
        return digest_of_names(self.names(folder, patterns, is_all=is_all))

    def names(
        self, folder: str, patterns: tuple[str, ...], *, is_all: bool
    ) -> Iterator[str]:
        """The names of files and links below a folder, relative to it.

        Raises:
            InvalidRequest: there are too many, or it takes too long to compare them.
        """
        prefix = "" if folder == "." else f"{folder}/"
        wild = 1 + sum(each.count(sign) for each in patterns for sign in "*?[")
        for path in self._paths(folder):
            name = path.removeprefix(prefix)
            self._spend("steps", wild * len(name))
            if is_all or is_found(patterns, name):
                yield name + PROGRAM * (is_all and self._is_program(path))

    def _spend(self, what: str, count: int) -> None:
        self._left[what] -= count
        if self._left[what] < 0:
            raise InvalidRequest(_TOO_MUCH[what])

    def _paths(self, folder: str) -> Iterator[str]:
        """Paths of files and links that are there, below a folder."""
        prefix = "" if folder == "." else f"{folder}/"
        known = self._sorted if self._sorted is not None else self._below(folder)
        for path in islice(known, bisect_left(known, prefix), None):
            if not path.startswith(prefix):
                break
            *folders, _name = path.removeprefix(prefix).split("/")
            if is_left_out(path) or path == self._lock:
                continue
            if not MADE.isdisjoint(folders):
                continue
            if self._kind(path) in ("file", "link"):
                yield path

    def _below(self, folder: str) -> list[str]:
        """Sorted paths, among them all that lie below a folder."""
        above = folder
        while above not in self._walked_in:
            upper, _, name = above.rpartition("/")
            # What tools make is left out of a walk that begins above it.
            if above == "." or name in MADE:
                self._walked_in[folder] = self._walked(folder)
                return self._walked_in[folder]
            above = upper or "."
        return self._walked_in[above]

    def _walked(self, folder: str) -> list[str]:
        """Paths of files below a folder; none if it is no folder, or behind a link."""
        facts = self._facts(folder)
        if facts is None or not stat.S_ISDIR(facts.st_mode):
            return []
        try:
            found = Disk().walk(f"{self.root}/{folder}", (), is_all=True).found
        except Unknowable as exc:
            raise InvalidRequest(str(exc)) from None
        self._spend("files", len(found))
        return sorted(
            os.path.normpath(f"{folder}/{path.removesuffix(PROGRAM)}")
            for path, seen in found.items()
            if seen.kind != "folder"
        )

    def _facts(self, path: str) -> os.stat_result | None:
        return stat_at(self.root, os.fsencode(path))

    def _kind(self, path: str) -> str:
        facts = self._facts(path)
        return ABSENT if facts is None else seen_of(facts).kind

    def _is_program(self, path: str) -> bool:
        facts = self._facts(path)
        is_file = facts is not None and stat.S_ISREG(facts.st_mode)
        return bool(is_file and facts is not None and facts.st_mode & stat.S_IXUSR)

    def _digest(self, path: str) -> str:
        digest = sha256()
        with open(open_beneath(self.root, path.split("/")), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                return ""
            if facts.st_size > MAX_FILE_BYTES:
                raise InvalidRequest(
                    f"{path} has {facts.st_size:,} bytes, too many for a lock"
                )
            self._spend("bytes", facts.st_size)
            while part := file.read(_CHUNK):
                digest.update(part)
        return digest.hexdigest()


def _files_of(root: Path) -> KnownFiles | None:
    """What git has of the files; None without a repository."""
    # Late: it starts programs.
    from bridge.change.collect import read_files

    return read_files(root)
