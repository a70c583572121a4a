"""The two sides that are compared: a commit, the index, or the files of the project.

Each has the paths, modes and texts of its files. No link is followed.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pygit2

from bridge.change.git_folder import NoRepository, Unreadable
from bridge.change.gitfile import linked_to
from bridge.change.ignored import Ignored
from bridge.change.index import Entry
from bridge.change.project_files import (
    OTHER,
    SUBMODULE,
    stat_at,
    text_at,
    untracked,
    why_closed,
)
from bridge.change.repository import Repository
from bridge.change.scope import Scope
from bridge.change.stored import UnknownText

MAX_FILE_BYTES = 512 * 1024
_MAX_HASHED_BYTES = 64 * MAX_FILE_BYTES
LINK = 0o120000
PLAIN, PROGRAM = 0o100644, 0o100755
LINKED = "a linked worktree of this repository"
_TOO_LARGE = "changed, too large"


class Found(NamedTuple):
    """A file on one side: its mode, and the id of its text; None if not known."""

    mode: int
    id: bytes | None = None


class LeftOut(Exception):
    """The text of a file is not for a diff; `str()` says why."""


class Entries:
    """The files of a commit or of the index."""

    def __init__(self, git: Repository | None, entries: Mapping[bytes, Entry]) -> None:
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
        if entry is None or entry.is_to_be_added:
            return None
        return Found(_canonical(entry.mode), entry.id)

    def text(self, _path: bytes, found: Found) -> bytes:
        """The text of a file; raises `LeftOut`."""
        text = _stored(self._git, found)
        if text is None:
            raise LeftOut("changed, and this clone lacks its text")
        return text


class Files:
    """The files of the project: those that git knows, and new ones."""

    def __init__(self, project: Path, git: Repository | None, scope: Scope) -> None:
        """Without a repository every file is new."""
        self._project = project
        self._git = git
        self._scope = scope
        self._index: Mapping[bytes, Entry] = git.index.entries if git else {}

    def known(self) -> Iterable[bytes]:
        """The paths of the index."""
        return self._index.keys()

    def others(self) -> Iterator[bytes]:
        """The paths of new files, without those that git ignores.

        A folder whose files are not looked for has a slash at its end.
        """
        known = {path: entry.mode for path, entry in self._index.items()}
        return untracked(
            self._project, known, self._ignored.hides, reaches=self._scope.reaches
        )

    def find(self, path: bytes, old: Found | None) -> Found | None:
        """The file at a path, if git would take it. `old` is that of the old side."""
        staged = self._index.get(path)
        if staged is not None and self._is_passed_over(staged):
            return Found(_canonical(staged.mode), staged.id)
        there = self._on_disk(path)
        is_removed = staged is None and old is not None
        # After `git rm --cached`, `git add -A` adds a file again unless it is ignored.
        return None if is_removed and self._ignored.is_ignored(path) else there

    def _is_passed_over(self, staged: Entry) -> bool:
        """Whether git does not look at a file, whatever lies there."""
        is_sparse = self._git is not None and self._git.is_sparse
        return staged.is_assumed or (staged.is_kept and not is_sparse)

    def unseen(self) -> Iterator[bytes]:
        """The files that git does not look at, and that are not as it has them.

        One of a sparse checkout, or by `--skip-worktree`, need not be there.
        """
        for path, entry in self._index.items():
            has = Found(_canonical(entry.mode), entry.id)
            if self._is_passed_over(entry) and not self.holds(path, has):
                yield path

    def holds(self, path: bytes, found: Found | None) -> bool:
        """Whether the project has this file of another side, or none as that has."""
        return self._on_disk(path) == found

    def _on_disk(self, path: bytes) -> Found | None:
        """The file that is at a path."""
        if path.endswith(b"/"):
            return Found(stat.S_IFDIR)
        staged = self._index.get(path)
        facts = stat_at(self._project, path)
        if facts is None:
            # Of a sparse checkout, it is only in the index.
            return Found(staged.mode, staged.id) if staged and staged.is_kept else None
        if stat.S_ISDIR(facts.st_mode):
            is_submodule = staged is not None and staged.mode == SUBMODULE
            return self._submodule(path, staged.id) if staged and is_submodule else None
        mode = self._mode(facts, staged)
        if self._git and staged and staged.has_facts(facts, self._git.index_ns):
            return Found(mode, staged.id)
        text = text_at(self._project, path, _MAX_HASHED_BYTES)
        if text is None:
            return Found(mode)
        try:
            text = self._as_stored(path, text, mode)
        except LeftOut:
            return Found(mode)
        return Found(mode, pygit2.hash(text).raw)

    def text(self, path: bytes, found: Found) -> bytes:
        """The text of a file; raises `LeftOut`."""
        if path.endswith(b"/"):
            folder = os.fsdecode(path.removesuffix(b"/"))
            why = why_closed(self._project, folder)
            if why == OTHER and self._is_ours(self._project / folder):
                why = LINKED
            raise LeftOut(why or "a folder that is gone")
        text = _stored(self._git, found)
        if text is not None:
            return text
        facts = stat_at(self._project, path)
        text = None if facts is None else text_at(self._project, path, MAX_FILE_BYTES)
        if text is None:
            is_file = facts is not None and stat.S_ISREG(facts.st_mode)
            raise LeftOut(_TOO_LARGE if is_file else "changed, no plain file")
        return self._as_stored(path, text, found.mode)

    @cached_property
    def _ignored(self) -> Ignored:
        if (git := self._git) is None:
            return Ignored(self._project)
        return Ignored(self._project, git.lib, git.common)

    def _is_ours(self, folder: Path) -> bool:
        return self._git is not None and linked_to(folder) == self._git.common

    def _as_stored(self, path: bytes, text: bytes, mode: int) -> bytes:
        if self._git is None or not stat.S_ISREG(mode):
            return text
        try:
            return self._git.attributes.stored(path, text)
        except UnknownText as exc:
            raise LeftOut(str(exc)) from None

    def _submodule(self, path: bytes, known: bytes) -> Found:
        """A submodule with the commit that it is at, or without, if it is not read.

        Of one that is not checked out the commit is the one that is `known`.
        """
        try:
            at = Repository(self._project / os.fsdecode(path)).head_id
            return Found(SUBMODULE, bytes.fromhex(at) if at else None)
        except NoRepository:
            return Found(SUBMODULE, known)
        except Unreadable:
            return Found(SUBMODULE)

    def _mode(self, facts: os.stat_result, staged: Entry | None) -> int:
        """The mode as git has it."""
        if stat.S_ISLNK(facts.st_mode):
            return LINK
        if not stat.S_ISREG(facts.st_mode):
            return stat.S_IFMT(facts.st_mode)
        git, known = self._git, staged.mode if staged else PLAIN
        if git is not None and known == LINK and not git.keeps_links:
            return LINK
        if git is None or git.keeps_modes:
            return _canonical(facts.st_mode)
        return _canonical(known) if stat.S_ISREG(known) else PLAIN


# What the old side is compared with.
Side = Entries | Files


def _canonical(mode: int) -> int:
    """The mode as git has it now: old commits may say more of a file."""
    if not stat.S_ISREG(mode):
        return mode
    return PROGRAM if mode & stat.S_IXUSR else PLAIN


def _stored(git: Repository | None, found: Found) -> bytes | None:
    """The text of a file that git has; None if it has not. Raises `LeftOut`."""
    size = git.size_of(found.id) if git and found.id else None
    if git is None or found.id is None or size is None:
        return None
    if size > MAX_FILE_BYTES:
        raise LeftOut(_TOO_LARGE)
    return git.text_of(found.id)
