"""Which two sides a scope means in this project, once its words are decided."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bridge.change.git_folder import NoRepository
from bridge.change.project_files import stat_at
from bridge.change.repository import Repository
from bridge.change.revisions import find_commit, fork_of, get_commit, near
from bridge.change.scope import RANGE, Scope
from bridge.change.sides import Entries, Files, Found, Side
from bridge.errors import InvalidRequest
from bridge.process.time_limit import within
from bridge.protocol.wording import quoted


@dataclass(frozen=True, slots=True)
class Sides:
    """Two sides to compare.

    Attributes:
        scope: what was asked, decided.
        old, new: the sides.
        files: the files of the project, whatever `new` is; all of them, if it is not.
        unmerged: paths that a merge has left open, where that matters.
        forged: folders of which git would commit another tree, where that matters.
        base, tip: the ids of the commits; None for a side that is not a commit.
        staged, head: the index and the last commit, where the new side is the files.
    """

    scope: Scope
    old: Entries
    new: Side
    files: Files
    unmerged: frozenset[bytes] = frozenset()
    forged: tuple[bytes, ...] = ()
    base: str | None = None
    tip: str | None = None
    staged: Entries | None = None
    head: Entries | None = None

    @property
    def is_new_in_files(self) -> bool:
        """Whether the new side is the files of the project."""
        return self.new is self.files

    def is_staged_apart(
        self, path: bytes, old: Found | None, new: Found | None
    ) -> bool:
        """Whether `git commit` would take what neither side has of a file.

        Of a file that cannot be compared this is unknown: it is left out anyway.
        """
        is_known = new is None or new.id is not None
        if self.staged is None or self.head is None or not is_known:
            return False
        return self.staged.find(path) not in (self.head.find(path), old, new)

    def is_in_project(self) -> bool:
        """Whether the files of the project are the whole new side, which is not they.

        Another file that differs would have commands judge other code. Files that git
        does not know do not count, but are named (`beside`): most work trees have
        some.
        """
        paths = {*self.new.known(), *self.files.known()}
        return all(self.files.holds(path, self.new.find(path, None)) for path in paths)

    def beside(self) -> Iterator[bytes]:
        """The files of the project that neither git knows nor the new side has."""
        return iter(()) if self.is_new_in_files else self.files.others()

    @property
    def nothing(self) -> str:
        """What is said if the two are the same."""
        if self.scope == Scope():
            return "Nothing differs from the last commit"
        return f"Nothing differs: {self.scope}"

    def paths(self) -> Iterator[bytes]:
        """The paths of all files that count, each once: first those of the old side."""
        known = set()
        for path in sorted({*self.old.known(), *self.new.known()}):
            if self.scope.covers(path):
                known.add(path)
                yield path
        for path in self.new.others():
            # A folder that was not looked into may have what counts.
            if path not in known and (path.endswith(b"/") or self.scope.covers(path)):
                yield path


def sides_of(project: Path, scope: Scope) -> Sides:
    """The two sides that a scope means.

    Raises:
        InvalidRequest: it names what is not there, or is not clear.
        Unreadable: there is no repository that may be read.
    """
    try:
        git = Repository(project, scope.index, scope.git_dir)
    except NoRepository:
        if not scope.paths or scope.kind != "uncommitted" or scope.base != "HEAD":
            raise
        return _whole_files(project, replace(scope, kind="files", undecided=None))
    scope = _decided(project, git, scope)
    sides = _compared(project, git, scope)
    _check_paths(project, scope, {*sides.old.known(), *sides.new.known()})
    return sides


def known_files(
    project: Path, paths: tuple[str, ...], *, until_s: float
) -> dict[str, list[str] | None]:
    """The paths that git knows, and those of new files; None without a repository.

    Raises:
        Unreadable: there is a repository that may not be read.
        TooSlow: the time was up.
    """
    with within(until_s - time.monotonic()):
        try:
            files = Files(project, Repository(project), Scope(paths=paths))
        except NoRepository:
            return {"known": None}
        found = {"known": files.known(), "new": files.others()}
        return {name: [*map(os.fsdecode, each)] for name, each in found.items()}


def _whole_files(project: Path, scope: Scope) -> Sides:
    files = Files(project, None, scope)
    _check_paths(project, scope, set())
    return Sides(scope, Entries(None, {}), files, files)


def _compared(project: Path, git: Repository, scope: Scope) -> Sides:
    is_new_in_files = scope.tip is None and scope.kind != "staged"
    files = Files(project, git, scope if is_new_in_files else Scope())
    base = None
    if scope.base != "HEAD" or scope.tip is not None or git.head_id is not None:
        base = get_commit(git, scope.base)
    tip = None if scope.tip is None else get_commit(git, scope.tip)
    if tip is not None and base is not None and scope.from_fork:
        base = fork_of(git, base, tip, f"{scope.base}...{scope.tip}")
    old = _at(git, base)
    if tip is not None:
        new = Entries(git, git.files_of(tip))
        return Sides(scope, old, new, files, base=base, tip=tip)
    index, forged = Entries(git, git.index.entries), git.index.forged
    if not is_new_in_files:
        unmerged = git.index.unmerged
        return Sides(
            scope, old, index, files, unmerged=unmerged, forged=forged, base=base
        )
    head = Entries(git, git.head)
    return Sides(
        scope, old, files, files, forged=forged, base=base, staged=index, head=head
    )


def _at(git: Repository, commit_id: str | None) -> Entries:
    """The files of a commit; none before the first."""
    if commit_id is None or commit_id == git.head_id:
        return Entries(git, git.head)
    return Entries(git, git.files_of(commit_id))


def _decided(project: Path, git: Repository, scope: Scope) -> Scope:
    """The scope with its undecided word taken for a revision or a path, as by git."""
    word = scope.undecided
    if word is None:
        return scope
    is_path = _is_there(project, scope.paths[0], {*git.head, *git.index.entries})
    try:
        is_revision = _is_revision(git, word)
    except InvalidRequest:
        if not is_path:
            raise
        is_revision = False
    if is_path and is_revision:
        raise InvalidRequest(
            f"{quoted(word)} is both a revision and a path",
            ways=("write -- after it if it is the revision", "or before the path"),
        )
    if is_path:
        return replace(scope, undecided=None)
    if is_revision or RANGE.fullmatch(word):
        return scope.as_revision()
    raise InvalidRequest(
        f"{quoted(word)} is neither a revision nor a path of the project",
        ways=near(git, word),
    )


def _is_revision(git: Repository, word: str) -> bool:
    range_of = RANGE.fullmatch(word)
    ends = (range_of[1] or "HEAD", range_of[3] or "HEAD") if range_of else (word,)
    return all(find_commit(git, end) is not None for end in ends)


def _check_paths(project: Path, scope: Scope, known: set[bytes]) -> None:
    """Refuse a path that is nowhere: a typing error must not look like no change."""
    for path in scope.paths:
        if not _is_there(project, path, known):
            raise InvalidRequest(
                f"no file and no folder is named {quoted(path)} on either side",
                ways=("name two revisions as A..B",) if scope.base != "HEAD" else (),
            )


def _is_there(project: Path, path: str, known: set[bytes]) -> bool:
    encoded = os.fsencode(path)
    if not path or encoded in known or stat_at(project, encoded) is not None:
        return True
    return any(each.startswith(encoded + b"/") for each in known)
