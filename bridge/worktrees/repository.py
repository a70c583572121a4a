"""A repository opened by libgit2 (pygit2), locked against others of ours.

What libgit2 obeys, and whose repository is opened, is said in `change.git_folder`.
Refused by name:

    a `.git` that leads elsewhere, alternates, a reftable, a submodule's work tree,
    a bare repository, `core.worktree`, another user's repository, and what libgit2
    does not read (SHA-256)

In `.git/hostbridge/` lies what is ours in a repository: the lock, and what is written
before it has its name (`git_locks`). `git clean` does not go there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from bridge.change.git_folder import (
    Unreadable,
    check_inside,
    load_pygit2,
    open_repository,
    own_folders,
)
from bridge.errors import StateRefused
from bridge.process.time_limit import TooSlow, within
from bridge.store.directory import Folder, NotAPlainFile
from bridge.store.linked_worktree import find_linked
from bridge.store.lock import LockBusy, lock_in
from bridge.worktrees.git_locks import GitLocks
from bridge.worktrees.own_process import LIMIT_S
from bridge.worktrees.refused import NoRepository, RepositoryBusy, WorktreeRefused
from bridge.worktrees.worktree import Worktree

if TYPE_CHECKING:
    import pygit2

_First = TypeVar("_First", Path, Worktree)
_Rest = ParamSpec("_Rest")
_Result = TypeVar("_Result")
# How long one call waits for another of ours.
WAIT_S = 60.0
_OURS = "hostbridge"
_MAX_TREE_BYTES = 1 << 24
_LEADING = ("worktrees", "logs", "logs/HEAD", "config", "config.worktree", "info")


class Git(NamedTuple):
    """A repository at hand, while our lock on it is held.

    Attributes:
        lib: pygit2, which is imported late.
        repo: the repository, with the project as its work tree.
        project: the project's real path.
        folder: its git folder (`.git`, or one in `.git/worktrees`).
        common: the folder that all worktrees share.
        locks: for changes of git's own files.
    """

    lib: Any
    repo: pygit2.Repository
    project: Path
    folder: Path
    common: Path
    locks: GitLocks


@contextmanager
def opened(project: Path) -> Iterator[Git]:
    """Open the repository of a project, alone.

    Raises:
        NoRepository: it has none, or one that is not supported.
    """
    project, folder, common = _folders(project)
    lib = loaded()
    with Folder.open(str(common)) as above, above.folder(_OURS) as ours:
        with lock_in(ours, "lock", wait_s=WAIT_S):
            locks = GitLocks(common, Path(ours.path))
            locks.recover()
            repo = open_tree(project)
            yield Git(lib, repo, project, folder, common, locks)


def bounded(
    work: Callable[Concatenate[_First, _Rest], _Result],
) -> Callable[Concatenate[_First, _Rest], _Result]:
    """Limit the time of a function about a project, and name what fails in it.

    Raises:
        RepositoryBusy: another process of ours works in the repository.
        WorktreeRefused: it cannot be read or written, or takes too long.
    """

    @wraps(work)
    def limited(first: _First, /, *rest: _Rest.args, **named: _Rest.kwargs) -> _Result:
        project = first if isinstance(first, Path) else first.project
        with _told(project), within(LIMIT_S):
            return work(first, *rest, **named)

    return limited


@contextmanager
def _told(project: Path) -> Iterator[None]:
    """Name what fails inside: the repository, and the reason.

    Raises:
        WorktreeRefused: whatever libgit2 or the system refused.
    """
    try:
        yield
    except WorktreeRefused:
        raise
    except LockBusy as exc:
        raise RepositoryBusy(exc.what, ways=("try again when it is done",)) from None
    except TooSlow:
        raise WorktreeRefused(
            f"{project}: git's files could not be read and written within "
            f"{LIMIT_S:.0f} s",
            ways=("look for a pipe among them, or a drive that does not answer",),
        ) from None
    except (NotAPlainFile, StateRefused) as exc:
        raise WorktreeRefused(str(exc)) from None
    except OSError as exc:
        where = exc.filename or project
        raise WorktreeRefused(f"{where}: {exc.strerror or exc}") from exc
    except Exception as exc:
        if not _is_of_libgit2(exc):
            raise
        raise WorktreeRefused(f"{project}: {_words(exc)}", ways=_ways(exc)) from exc


def open_tree(tree: Path) -> pygit2.Repository:
    """Open the repository whose work tree is `tree`, and no other.

    Raises:
        NoRepository: it is bare, or configured to work elsewhere, or not supported.
    """
    try:
        return open_repository(tree)
    except Unreadable as exc:
        raise NoRepository(str(exc), ways=exc.ways) from None


@cache
def loaded() -> Any:
    """pygit2, set up.

    Raises:
        WorktreeRefused: it cannot be loaded here.
    """
    try:
        lib = load_pygit2()
    except Unreadable as exc:
        raise WorktreeRefused(str(exc), ways=exc.ways) from exc
    # A commit that is reported is on disk: libgit2 leaves that to the system.
    lib.settings.enable_fsync_gitdir(True)  # noqa: FBT003 - libgit2's signature
    # Otherwise the tree of a folder with more than some 100 files is read anew for each
    # attribute of one of them in a commit.
    lib.settings.cache_object_limit(lib.enums.ObjectType.TREE, _MAX_TREE_BYTES)
    return lib


def _folders(project: Path) -> tuple[Path, Path, Path]:
    project = Path(os.path.realpath(project))
    try:
        folder, common = own_folders(project)
        for name in _LEADING:
            check_inside(folder, name)
            check_inside(common, name)
    except Unreadable as exc:
        way = "git init, and a first commit"
        ways = (way,) if "no git repository" in str(exc) else exc.ways
        raise NoRepository(f"{project}: {exc}", ways=ways) from None
    linked = find_linked(project)
    main = linked.main if linked is not None else project
    if common != main / ".git":
        raise NoRepository(
            f"{project}: its git folder is {common}: the work tree of a submodule, or "
            "of a repository elsewhere, cannot have worktrees of hostbridge",
            ways=("work in a clone of its own: git clone",),
        )
    return project, folder, common


def _is_of_libgit2(exc: Exception) -> bool:
    """pygit2 raises errors of its own, and KeyError for an object that is missing."""
    with suppress(WorktreeRefused):
        lib = loaded()
        kinds = (lib.GitError, lib.InvalidSpecError, lib.AlreadyExistsError)
        if isinstance(exc, kinds):
            return True
    return isinstance(exc, KeyError) and _is_object_id(exc)


def _is_object_id(exc: KeyError) -> bool:
    return bool(exc.args) and re.fullmatch("[0-9a-f]{40}", str(exc.args[0])) is not None


def _ways(exc: Exception) -> tuple[str, ...]:
    """What helps, where that is known: libgit2 reads no split and no sparse index."""
    if "mandatory extension" not in str(exc):
        return ()
    return ("git update-index --no-split-index", "git sparse-checkout disable")


def _words(exc: Exception) -> str:
    if isinstance(exc, KeyError) and _is_object_id(exc):
        return f"this clone lacks the object {exc.args[0]}"
    return str(exc) or type(exc).__name__
