"""Compare two sides, file by file, within a time and a number of characters.

Of a file that is too large, binary, secret or missing in this clone only the path is
named. A renamed file is a deleted and a new one.
"""

import os
import stat
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from bridge.change.cache_tree import WAY_OUT
from bridge.change.change import Change, ChangedFile
from bridge.change.diffs import FileDiff, file_diff, path_text, plain_text
from bridge.change.project_files import SUBMODULE
from bridge.change.scope import Scope
from bridge.change.secrets import is_secret
from bridge.change.sides import (
    LINK,
    LINKED,
    MAX_FILE_BYTES,
    PLAIN,
    Found,
    LeftOut,
    Side,
)
from bridge.change.told import imported
from bridge.change.two_sides import Sides, sides_of
from bridge.process.time_limit import TooSlow, within
from bridge.protocol.wording import escaped

_T = TypeVar("_T")
# Of the diff; and the share of them that one file may take.
MAX_CHARS = 60_000
_FILE_SHARE = 3
MAX_NAMED = 40
# How many files are listed, and of how many characters their paths are in all.
MAX_FILES = 2000
MAX_PATH_CHARS = 200_000
# Less room than this is not used.
_MIN_ROOM = 200
_BINARY = "binary"
_SUBMODULE = "another commit of a submodule"
_STAGED_APART = (
    "Staged otherwise than in the project, so that `git commit` takes something else "
    "than `git commit -a`"
)
# Above the diff of what is staged, below that of the file in the project.
_STAGED = "As it is staged, not as it is in the project:\n"
_FORGED = (
    "since the index names another tree than its files make, and `git commit` would "
    f"take that ({WAY_OUT} puts it right)"
)
_TOO_MANY = "too many to be listed in time"
_AFTER = "what comes after its first"
_LINKED = (
    f"No part of it, {LINKED}, whose commit `git add -A` takes, and none of its files"
)
_UNSEEN = (
    "Git was told not to look at these files, and in the project they are not what is "
    "committed (`git update-index --no-assume-unchanged --no-skip-worktree PATH`)"
)
# The part by which git recognizes a text.
_SNIFFED = 8000
_LFS = b"version https://git-lfs.github.com/spec/v1\n"


def compare(
    project: Path, scope: Scope, *, until_s: float, max_chars: int = MAX_CHARS
) -> Change:
    """The change, as far as it is known at `until_s`, and notes on what is left out.

    Raises:
        Unreadable: there is no repository that may be read.
        InvalidRequest: the scope names what is not there, or is not clear.
        TooSlow: the time was up before anything could be compared.
    """
    with within(until_s - time.monotonic()):
        sides = sides_of(project, scope)
    return _Comparison(project, sides, until_s, max_chars).result()


class _Pair(NamedTuple):
    """A file on the old side, and on the one that it is compared with, `side`."""

    path: bytes
    old: Found | None
    new: Found | None
    side: Side


class _Comparison:
    """One look at two sides: gathers diffs, and names of what is left out."""

    def __init__(
        self, project: Path, sides: Sides, until_s: float, max_chars: int
    ) -> None:
        self._project = project
        self._sides = sides
        self._until_s = until_s
        self._max_chars = max_chars
        self._over = f"over {max_chars:,} characters in all"
        self._diffs: list[str] = []
        self._size = 0
        # Why something is left out -> the paths.
        self._left_out: dict[str, list[str]] = {}
        # What is remarked on files that no commit would take as they are -> the paths.
        self._asides: dict[str, list[str]] = {}
        self._files: list[ChangedFile] = []
        self._more_files = 0
        self._path_chars = 0
        # Whether all that is left out is text, and can be read in the project.
        self._is_rest_in_files = True

    def result(self) -> Change:
        for folder in self._sides.forged:
            self._leave_out(_Pair(folder or b".", None, None, self._sides.new), _FORGED)
        is_all = self._in_time(self._look_at_all, late=False) and self._in_time(
            self._mark_told, late=False
        )
        is_in_files = is_all and self._in_time(self._is_in_project, late=False)
        asides = [f"{why}: {_listed(paths)}" for why, paths in self._asides.items()]
        notes = [
            f"Left out, {why}: {_listed(paths)}"
            for why, paths in self._left_out.items()
        ]
        notes += asides
        if not is_all:
            notes.insert(0, "The time for reading the change was up: there may be more")
        if not self._diffs and not notes:
            notes = [self._sides.nothing]
        return Change(
            "\n".join(self._diffs),
            tuple(notes),
            files=tuple(self._files),
            more_files=self._more_files,
            is_whole=is_all and not self._left_out,
            scope=self._sides.scope,
            base=self._sides.base,
            tip=self._sides.tip,
            is_in_files=is_in_files,
            is_rest_in_files=is_all and is_in_files and self._is_rest_named,
            beside=self._in_time(self._beside, late=_TOO_MANY) if is_in_files else "",
            aside=". ".join(asides),
        )

    @property
    def _is_rest_named(self) -> bool:
        """Whether each file of which something is left out is text, and is named."""
        is_named = all(len(paths) <= MAX_NAMED for paths in self._left_out.values())
        return is_named and self._is_rest_in_files and not self._more_files

    def _in_time(self, part: Callable[[], _T], late: _T) -> _T:
        """What a part of the work says; `late` if the time was up before its end."""
        try:
            with within(self._until_s - time.monotonic()):
                return part()
        except TooSlow:
            return late

    def _is_in_project(self) -> bool:
        """Whether those who read or run the files of the project have the new side."""
        if not self._sides.is_new_in_files:
            return self._sides.is_in_project()
        if unseen := [path_text(path) for path in self._sides.files.unseen()]:
            self._asides[_UNSEEN] = unseen
        return not unseen

    def _beside(self) -> str:
        """The files with which commands would run, and which are no part of it."""
        return _listed([path_text(path) for path in self._sides.beside()])

    def _look_at_all(self) -> bool:
        """Compare every file; False if the time was up before the end."""
        for path in self._sides.paths():
            if time.monotonic() >= self._until_s:
                return False
            self._look_at(path)
        return True

    def _mark_told(self) -> bool:
        """Mark the files whose text goes into agents' prompts."""
        paths = (*self._sides.new.known(), *(each.name for each in self._files))
        told = imported(self._project, paths, self._text_at)
        self._files = [
            replace(each, is_told=True) if told is None or each.name in told else each
            for each in self._files
        ]
        return True

    def _text_at(self, path: bytes) -> tuple[bytes, bool] | None:
        """The text of a file on the new side; or where a link leads, and True."""
        new = self._sides.new
        if (found := new.find(path, None)) is None:
            return None
        try:
            return new.text(path, found), found.mode == LINK
        except (LeftOut, OSError):
            return None

    def _look_at(self, path: bytes) -> None:
        """Compare a file, or name it; also as it is staged, if that is a third text."""
        sides = self._sides
        old = sides.old.find(path)
        new = sides.new.find(path, old)
        is_same = old == new and (old is None or old.id is not None)
        if not is_same or path in sides.unmerged:
            self._compare(_Pair(path, old, new, sides.new))
        if sides.staged is not None and sides.is_staged_apart(path, old, new):
            self._asides.setdefault(_STAGED_APART, []).append(path_text(path))
            self._compare(_Pair(path, old, sides.staged.find(path), sides.staged))

    def _compare(self, pair: _Pair) -> None:
        try:
            self._show(pair)
        except LeftOut as exc:
            if str(exc) == LINKED:
                self._asides.setdefault(_LINKED, []).append(path_text(pair.path))
            else:
                self._list(pair, str(exc))
        except MemoryError:
            self._list(pair, "it takes too much to compare")

    def _show(self, pair: _Pair) -> None:
        """Show how a file differs.

        Raises:
            LeftOut: it is only to be named.
        """
        path, old, new, _ = pair
        if SUBMODULE in (old and old.mode, new and new.mode):
            is_known = new is None or new.id is not None
            raise LeftOut(_SUBMODULE if is_known else "a submodule that is not read")
        if path in self._sides.unmerged:
            raise LeftOut("a merge has left it open")
        if is_secret(os.fsdecode(path).split("/")):
            raise LeftOut("it may hold secrets")
        is_over = self._size >= self._max_chars - _MIN_ROOM
        if is_over and len(self._left_out.get(self._over, ())) >= MAX_NAMED:
            # A tool may have made thousands of files: these are not even named.
            raise LeftOut(self._over)
        before, after = self._texts(pair)
        modes = old.mode if old else PLAIN, new.mode if new else PLAIN
        is_both = before is not None and after is not None and modes[0] == modes[1]
        if is_both and before == after:
            return
        if hidden := _why_not_shown(before, after):
            raise LeftOut(hidden)
        if is_over:
            raise LeftOut(self._over)
        self._add(pair, file_diff(path, before, after, modes=modes))

    def _texts(self, pair: _Pair) -> tuple[bytes | None, bytes | None]:
        """Both texts; None where there is no file. The same text is not read."""
        path, old, new, side = pair
        if old is not None and new is not None and old.id == new.id:
            return b"", b""
        return (
            None if old is None else self._sides.old.text(path, old),
            None if new is None else side.text(path, new),
        )

    def _add(self, pair: _Pair, diff: FileDiff) -> None:
        """Take a diff, or as much of it as there is room for."""
        text, why = diff.text, None
        if pair.side is self._sides.staged:
            text = _STAGED + text
        most = self._max_chars // _FILE_SHARE
        if len(text) > most:
            text = text[:most].rpartition("\n")[0]
            why = f"{_AFTER} {most:,} characters"
        if self._size + len(text) > self._max_chars:
            why = self._over
        else:
            self._size += len(text) + 1
            self._diffs.append(text)
        self._list(pair, why, diff)

    def _list(self, pair: _Pair, why: str | None, diff: FileDiff | None = None) -> None:
        """List a file that differs, and with `why` name it as left out.

        What is staged of a file is listed with it as one.
        """
        if why is not None:
            self._leave_out(pair, why)
        name, new = plain_text(pair.path), pair.new
        is_staged = pair.side is self._sides.staged
        found = ChangedFile(
            name,
            added=diff.added if diff else None,
            removed=diff.removed if diff else None,
            is_new=pair.old is None,
            is_deleted=new is None,
            is_binary=why == _BINARY,
            raw="" if name.encode() == pair.path else pair.path.hex(),
            is_shown=why is None,
            is_plain=new is None or new.mode == PLAIN,
            staged=(new.id.hex() if new and new.id else "none") if is_staged else "",
        )
        if self._files and self._files[-1].name == pair.path:
            self._files[-1] = _together(self._files[-1], found)
            return
        self._path_chars += len(name)
        if len(self._files) >= MAX_FILES or self._path_chars > MAX_PATH_CHARS:
            self._more_files += 1
            return
        self._files.append(found)

    def _leave_out(self, pair: _Pair, why: str) -> None:
        """Name a file of which something is left out."""
        named, why = path_text(pair.path), escaped(why)
        self._left_out.setdefault(why, []).append(named)
        is_text = why == self._over or why.startswith(_AFTER)
        is_file = pair.new is not None and stat.S_ISREG(pair.new.mode)
        is_there = pair.side is not self._sides.staged
        # Under a name that is shown differently it cannot be opened.
        if not (is_text and is_file and is_there and os.fsencode(named) == pair.path):
            self._is_rest_in_files = False


def _together(file: ChangedFile, staged: ChangedFile) -> ChangedFile:
    """A file that differs in the project, and otherwise as it is staged, as one."""

    def both(one: int | None, other: int | None) -> int | None:
        return None if one is None or other is None else one + other

    return replace(
        file,
        added=both(file.added, staged.added),
        removed=both(file.removed, staged.removed),
        is_binary=file.is_binary or staged.is_binary,
        is_shown=file.is_shown and staged.is_shown,
        is_plain=file.is_plain and staged.is_plain,
        staged=staged.staged,
    )


def _why_not_shown(old: bytes | None, new: bytes | None) -> str | None:
    """Why a change of these texts is not for a prompt; None if it is."""
    is_lfs = old is not None and old.startswith(_LFS)
    if is_lfs and new is not None and not new.startswith(_LFS):
        return "its text is kept by Git LFS"
    if max(len(old or b""), len(new or b"")) > MAX_FILE_BYTES:
        return "changed, too large"
    if any(b"\0" in text[:_SNIFFED] for text in (old, new) if text is not None):
        return _BINARY
    return None


def _listed(paths: list[str]) -> str:
    more = len(paths) - MAX_NAMED
    shown = ", ".join(paths[:MAX_NAMED])
    return f"{shown} and {more:,} more" if more > 0 else shown
