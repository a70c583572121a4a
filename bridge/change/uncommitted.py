"""Compare the files of a project with its last commit.

Staged, unstaged and new files are one change: what the next commit could become. Of a
file that is too large, binary, secret or missing in this clone only the path is named.
"""

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from dulwich.index import IndexEntry
from dulwich.patch import is_binary

from bridge.change.change import Change, ChangedFile
from bridge.change.diffs import differs, file_diff, path_text
from bridge.change.project_files import stat_at, text_at, untracked
from bridge.change.repository import Entry, Repository, Unreadable
from bridge.change.scope import Scope
from bridge.change.secrets import is_secret
from bridge.process.time_limit import TooSlow, within

MAX_CHARS = 60_000
MAX_FILE_CHARS = 20_000
MAX_FILE_BYTES = 512 * 1024
MAX_NAMED = 40
# The share of the time that one file may take: the others must be compared, too.
_SHARE = 1 / 4
_OVER = f"over {MAX_CHARS:,} characters in all"
# Less room than this is not used.
_MIN_ROOM = 200
_LFS = b"version https://git-lfs.github.com/spec/v1\n"
_SUBMODULE = 0o160000


def changed(project: Path, *, until_s: float) -> tuple[str, list[str]]:
    """The diff, as far as it is known at `until_s`, and notes on what it leaves out.

    Raises:
        Unreadable: there is no repository that may be read.
        TooSlow: the time was up before anything could be compared.
    """
    change = change_of(project, Scope(), until_s=until_s)
    return change.diff, list(change.notes)


def change_of(project: Path, scope: Scope, *, until_s: float) -> Change:
    """The change, as far as it is known at `until_s`.

    Raises:
        Unreadable, TooSlow: as `changed`.
        InvalidRequest: the scope names what is not there.
    """
    if scope != Scope():
        raise Unreadable("only what is not committed is read by now")
    with within(until_s - time.monotonic()):
        git = Repository(project)
    return _Comparison(project, git, until_s).result()


class _Comparison:
    """One look at a project: gathers diffs, and names of what is left out."""

    def __init__(self, project: Path, git: Repository, until_s: float) -> None:
        self._project = project
        self._git = git
        self._until_s = until_s
        self._diffs: list[str] = []
        self._size = 0
        # Why something is left out -> the paths.
        self._left_out: dict[str, list[str]] = {}
        self._files: list[ChangedFile] = []

    def result(self) -> Change:
        is_whole = self._look_at_all()
        notes = [
            f"Left out, {why}: {_listed(paths)}"
            for why, paths in self._left_out.items()
        ]
        if not is_whole:
            notes.insert(0, "The time for reading the change was up: there may be more")
        if not self._diffs and not notes:
            notes = ["Nothing differs from the last commit"]
        return Change(
            "\n".join(self._diffs),
            tuple(notes),
            files=tuple(self._files),
            is_whole=is_whole and not self._left_out,
        )

    def _look_at_all(self) -> bool:
        """Compare every file; False if the time was up before the end."""
        left_s = self._until_s - time.monotonic()
        try:
            with within(left_s):
                for path in self._paths():
                    # The alarm may have gone off inside a file's own limit.
                    if time.monotonic() >= self._until_s:
                        return False
                    self._look_within(path, left_s * _SHARE)
        except TooSlow:
            return False
        return True

    def _look_within(self, path: bytes, seconds: float) -> None:
        """Compare a file; one that takes too long is only named."""
        try:
            with within(seconds):
                self._look_at(path)
        except (TooSlow, MemoryError):
            self._leave_out(path, "it takes too much to compare")

    def _paths(self) -> Iterator[bytes]:
        index = self._git.index
        yield from sorted({*self._git.head, *index})
        yield from untracked(self._project, index.keys(), self._git.exclude)

    def _look_at(self, path: bytes) -> None:
        head = self._git.head.get(path)
        staged = self._git.index.get(path)
        facts = stat_at(self._project, path)
        if staged is None and head is not None:
            # Removed from the index: that is a deletion, whatever is still there.
            facts = None
        if _SUBMODULE in (getattr(head, "mode", 0), getattr(staged, "mode", 0)):
            if getattr(head, "sha", None) != getattr(staged, "sha", None):
                self._leave_out(path, "another commit of a submodule")
            return
        if facts is None and (head is None or getattr(staged, "skip_worktree", False)):
            return
        if facts is not None and self._is_as_committed(head, staged, facts):
            return
        if is_secret(os.fsdecode(path).split("/")):
            self._leave_out(path, "it may hold secrets")
            return
        self._compare(path, head, facts)

    def _is_as_committed(
        self,
        head: Entry | None,
        staged: Entry | IndexEntry | None,
        facts: os.stat_result,
    ) -> bool:
        """Whether the index says so; then the file need not be read."""
        if head is None or staged is None or isinstance(staged, Entry):
            return False
        return (
            (staged.sha, staged.mode) == (head.sha, head.mode)
            and staged.size == facts.st_size & 0xFFFFFFFF
            and staged.mtime == divmod(facts.st_mtime_ns, 10**9)
            # A file as old as the index may have been written again since.
            and facts.st_mtime_ns < self._git.index_ns
        )

    def _compare(
        self, path: bytes, head: Entry | None, facts: os.stat_result | None
    ) -> None:
        if head is not None and facts is not None and self._has_id(path, head, facts):
            return
        if self._size >= MAX_CHARS - _MIN_ROOM:
            # A tool may have made a whole folder of files.
            self._leave_out(path, _OVER)
            return
        old = new = None
        if head is not None:
            old = self._git.text_of(head)
            if old is None:
                self._leave_out(path, "changed, and this clone lacks its old text")
                return
        if facts is not None:
            new = text_at(self._project, path, MAX_FILE_BYTES)
            if new is None:
                is_file = stat.S_ISREG(facts.st_mode)
                why = "too large" if is_file else "no plain file"
                self._leave_out(path, f"changed, {why}")
                return
        if old is not None and new is not None and not differs(old, new):
            return
        if hidden := _why_not_shown(old, new):
            self._leave_out(path, hidden)
        else:
            self._add(path, file_diff(path, old, new))

    def _has_id(self, path: bytes, head: Entry, facts: os.stat_result) -> bool:
        """Whether a file is exactly what was committed."""
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > 64 * MAX_FILE_BYTES:
            return False
        text = text_at(self._project, path, 64 * MAX_FILE_BYTES)
        if text is None:
            return False
        make = hashlib.sha256 if len(head.sha) > 40 else hashlib.sha1  # noqa: PLR2004 - hex digits
        return make(b"blob %d\0" % len(text) + text).hexdigest().encode() == head.sha

    def _add(self, path: bytes, diff: str) -> None:
        lines = diff.split("\n")[3:]
        added = sum(line.startswith("+") for line in lines)
        removed = sum(line.startswith("-") for line in lines)
        self._files.append(ChangedFile(path_text(path), added, removed))
        if len(diff) > MAX_FILE_CHARS:
            diff = diff[:MAX_FILE_CHARS].rpartition("\n")[0]
            self._leave_out(
                path, f"what comes after its first {MAX_FILE_CHARS:,} characters"
            )
        if self._size + len(diff) > MAX_CHARS:
            self._leave_out(path, _OVER)
            return
        self._size += len(diff) + 1
        self._diffs.append(diff)

    def _leave_out(self, path: bytes, why: str) -> None:
        self._left_out.setdefault(why, []).append(path_text(path))
        self._files.append(ChangedFile(path_text(path), is_shown=False))


def _why_not_shown(old: bytes | None, new: bytes | None) -> str | None:
    """Why a change of these texts is not for a prompt; None if it is."""
    is_lfs = old is not None and old.startswith(_LFS)
    if is_lfs and new is not None and not new.startswith(_LFS):
        return "its text is kept by Git LFS"
    if len(old or b"") > MAX_FILE_BYTES:
        return "changed, too large"
    if any(is_binary(text) for text in (old, new) if text is not None):
        return "binary"
    return None


def _listed(paths: list[str]) -> str:
    more = len(paths) - MAX_NAMED
    shown = ", ".join(paths[:MAX_NAMED])
    return f"{shown} and {more:,} more" if more > 0 else shown
