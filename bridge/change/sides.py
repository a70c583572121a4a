"""The two sides that are compared: a commit, the index, or the files of the project.

Each tells which files it has, their modes, and their texts. No link is followed.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

from dulwich.index import IndexEntry

from bridge.change.project_files import (
    Ignored,
    ignored_in,
    stat_at,
    text_at,
    untracked,
    why_closed,
)
from bridge.change.repository import (
    Entry,
    NoRepository,
    Repository,
    Unreadable,
    is_to_be_added,
)
from bridge.change.scope import Scope

MAX_FILE_BYTES = 512 * 1024
_MAX_HASHED_BYTES = 64 * MAX_FILE_BYTES
LINK = 0o120000
SUBMODULE = 0o160000
PLAIN, PROGRAM = 0o100644, 0o100755
_SHA1_DIGITS = 40


class Found(NamedTuple):
    """A file on one side: its mode, and the id of its text where git has one."""

    mode: int
    sha: bytes | None = None


class LeftOut(Exception):
    """The text of a file is not for a diff; `str()` says why."""


class Side(Protocol):
    """What is looked at: the new side."""

    def known(self) -> Iterable[bytes]:
        """The paths of the files that git has on it."""

    def others(self) -> Iterator[bytes]:
        """The paths of other files."""

    def find(self, path: bytes, old: Found | None) -> Found | None:
        """The file at a path; None for none. `old` is the file on the old side."""

    def text(self, path: bytes, found: Found) -> bytes:
        """The text of a file, or where a link leads.

        Raises:
            LeftOut: it cannot be had, or is too large.
        """


class Entries:
    """The files of a commit or of the index."""

    def __init__(
        self, git: Repository | None, entries: Mapping[bytes, Entry | IndexEntry]
    ) -> None:
        """Take the files by path; without a repository there are none."""
        self._git = git
        self._entries = entries

    def known(self) -> Iterable[bytes]:
        """The paths of its files."""
        return self._entries.keys()

    def others(self) -> Iterator[bytes]:
        """None: git has them all."""
        return iter(())

    def find(self, path: bytes, _old: Found | None = None) -> Found | None:
        """The file at a path."""
        entry = self._entries.get(path)
        if entry is None or is_to_be_added(entry):
            return None
        return Found(_canonical(entry.mode), entry.sha)

    def text(self, path: bytes, _found: Found) -> bytes:
        """The text of a file; raises `LeftOut`."""
        return _text_of(self._git, self._entries[path])


class Files:
    """The files of the project: those that git knows, and new ones."""

    def __init__(self, project: Path, git: Repository | None, scope: Scope) -> None:
        """Without a repository every file is new."""
        self._project = project
        self._git = git
        self._scope = scope
        self._index: Mapping[bytes, Entry | IndexEntry] = git.index if git else {}

    def known(self) -> Iterable[bytes]:
        """The paths of the index."""
        return self._index.keys()

    def others(self) -> Iterator[bytes]:
        """The paths of new files, without those that git ignores.

        A folder whose files are not looked for has a slash at its end.
        """
        known = {path: entry.mode for path, entry in self._index.items()}
        return untracked(
            self._project, known, self._ignored, reaches=self._scope.reaches
        )

    def find(self, path: bytes, old: Found | None) -> Found | None:
        """The file at a path."""
        if path.endswith(b"/"):
            return Found(stat.S_IFDIR)
        staged = self._index.get(path)
        is_removed = staged is None and old is not None
        if is_removed and self._ignored.is_ignored(os.fsdecode(path)):
            return None
        facts = stat_at(self._project, path)
        if facts is None:
            # Of a sparse checkout, it is only in the index.
            is_kept = isinstance(staged, IndexEntry) and staged.skip_worktree
            return Found(staged.mode, staged.sha) if staged and is_kept else None
        if stat.S_ISDIR(facts.st_mode):
            if staged is None or staged.mode != SUBMODULE:
                return None
            return self._submodule(path, staged.sha)
        mode = self._mode(facts, staged)
        if isinstance(staged, IndexEntry) and self._is_staged(staged, facts):
            return Found(mode, staged.sha)
        is_old = old is not None and self._has_id(path, facts, old)
        if is_removed and is_old:
            # The next `git commit` deletes it. With another text it is a change: `git
            # add -A` takes what is there.
            return None
        return Found(mode, old.sha if old and is_old else None)

    def text(self, path: bytes, found: Found) -> bytes:
        """The text of a file; raises `LeftOut`."""
        if found.sha is not None:
            # As git has it: the file may have other line ends, or not be checked out.
            return _text_of(self._git, self._index[path])
        if path.endswith(b"/"):
            folder = os.fsdecode(path.removesuffix(b"/"))
            raise LeftOut(why_closed(self._project, folder) or "a folder that is gone")
        facts = stat_at(self._project, path)
        text = None if facts is None else text_at(self._project, path, MAX_FILE_BYTES)
        if text is None:
            is_file = facts is not None and stat.S_ISREG(facts.st_mode)
            raise LeftOut(f"changed, {'too large' if is_file else 'no plain file'}")
        return text

    @cached_property
    def _ignored(self) -> Ignored:
        return ignored_in(self._project, self._git.exclude if self._git else None)

    def is_removed(self, path: bytes) -> bool:
        """Whether a file that the old side has is in the project, but not in git's."""
        return path not in self._index

    def holds(self, path: bytes, found: Found | None) -> bool:
        """Whether the project has this file of another side, or none as that has."""
        facts = stat_at(self._project, path)
        if found is not None and found.mode == SUBMODULE:
            is_there = facts is not None and stat.S_ISDIR(facts.st_mode)
            return is_there and self._submodule(path, found.sha) == found
        if facts is None or stat.S_ISDIR(facts.st_mode):
            return found is None
        if found is None or stat.S_IFMT(found.mode) != stat.S_IFMT(facts.st_mode):
            return False
        staged = self._index.get(path)
        if isinstance(staged, IndexEntry) and self._is_staged(staged, facts):
            return staged.sha == found.sha
        return self._has_id(path, facts, found, any_line_ends=True)

    def _submodule(self, path: bytes, known: bytes | None) -> Found:
        """A submodule with the commit that it is at, or without, if it is not read.

        Of one that is not checked out the commit is the one that is `known`.
        """
        try:
            git = Repository(self._project / os.fsdecode(path))
            return Found(SUBMODULE, git.head_id)
        except NoRepository:
            return Found(SUBMODULE, known)
        except Unreadable:
            return Found(SUBMODULE)

    def _has_id(
        self,
        path: bytes,
        facts: os.stat_result,
        other: Found,
        *,
        any_line_ends: bool = False,
    ) -> bool:
        """Whether a file has the text of another one, at best with other line ends."""
        if other.sha is None or facts.st_size > _MAX_HASHED_BYTES:
            return False
        text = text_at(self._project, path, _MAX_HASHED_BYTES)
        if text is None:
            return False
        texts = [text, text.replace(b"\r\n", b"\n")] if any_line_ends else [text]
        return other.sha in [id_of(each, len(other.sha)) for each in texts]

    def _mode(self, facts: os.stat_result, staged: Entry | IndexEntry | None) -> int:
        """The mode as git has it."""
        if stat.S_ISLNK(facts.st_mode):
            return LINK
        if not stat.S_ISREG(facts.st_mode):
            return stat.S_IFMT(facts.st_mode)
        if self._git is not None and not self._git.keeps_modes:
            is_known = staged is not None and stat.S_ISREG(staged.mode)
            return staged.mode if staged and is_known else PLAIN
        return _canonical(facts.st_mode)

    def _is_staged(self, staged: IndexEntry, facts: os.stat_result) -> bool:
        """Whether the index says that it has this text; then it need not be read."""
        assert self._git is not None  # noqa: S101
        return (
            stat.S_IFMT(staged.mode) == stat.S_IFMT(facts.st_mode)
            and staged.size == facts.st_size & 0xFFFFFFFF
            and staged.mtime == divmod(facts.st_mtime_ns, 10**9)
            # Anybody can set the time of a file back; not this one. An index that does
            # not know it has 0, and then the file is read.
            and staged.ctime == divmod(facts.st_ctime_ns, 10**9)
            and staged.ino == facts.st_ino & 0xFFFFFFFF
            # A file as old as the index may have been written again since.
            and max(facts.st_mtime_ns, facts.st_ctime_ns) < self._git.index_ns
            and not is_to_be_added(staged)
        )


def _canonical(mode: int) -> int:
    """The mode as git has it now: old commits may say more of a file."""
    if not stat.S_ISREG(mode):
        return mode
    return PROGRAM if mode & stat.S_IXUSR else PLAIN


def _text_of(git: Repository | None, entry: Entry | IndexEntry) -> bytes:
    text = git.text_of(Entry(entry.mode, entry.sha)) if git else None
    if text is None:
        raise LeftOut("changed, and this clone lacks its text")
    return text


def id_of(text: bytes, digits: int) -> bytes:
    """The id that git gives a text: SHA-1 or SHA-256, by the number of digits."""
    make = hashlib.sha256 if digits > _SHA1_DIGITS else hashlib.sha1
    return make(b"blob %d\0" % len(text) + text).hexdigest().encode("ascii")
