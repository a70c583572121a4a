"""Whose folder a `.git` is, and the repository in it opened by libgit2 (pygit2).

Only a `.git` that belongs to this folder is opened: one that came in an archive could
name another repository, and its texts would end up in a prompt.

libgit2 runs no program: no hooks, no filters, no fsmonitor, no signing, no merge
driver, no `ssh`. It reads the configuration of the user and of the repository, in
which only what it has itself counts (`core.autocrlf`, `core.excludesFile` …).

Source: gitrepository-layout(5); git-worktree(1), "DETAILS".
"""

from __future__ import annotations

import os
import re
import stat
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.change.gitfile import is_same, linked_to, named_by, read_small, shared_by
from bridge.change.index import BrokenIndex, read_index
from bridge.change.project_files import stat_at
from bridge.protocol.wording import escaped, in_shell

if TYPE_CHECKING:
    import pygit2

_PARTS = ("HEAD", "index", "objects", "refs", "packed-refs", "shallow")
_BARE = re.compile(rb"^\s*bare\s*=\s*true\s*$", re.M | re.I)
_WORKTREE = re.compile(rb"^\s*worktree\s*=\s*(.+?)\s*$", re.M)


class Unreadable(Exception):
    """There is no repository that may be read; `str()` says why, `ways` what helps."""

    def __init__(self, why: str, ways: tuple[str, ...] = ()) -> None:
        # It may have words of the repository in it.
        super().__init__(escaped(why))
        self.ways = ways


class NoRepository(Unreadable):
    """The project is no git repository."""


def own_folders(project: Path) -> tuple[Path, Path]:
    """The git folder of this worktree, and the one that all worktrees share.

    Both belong to `project`, and nothing that is read in them leads elsewhere.

    Raises:
        Unreadable: there is none, it lies elsewhere, or it is a kind not read here.
    """
    folder, common = _folders(project)
    check_own(folder, common)
    return folder, common


def check_own(folder: Path, common: Path) -> None:
    """Refuse git folders of which a part leads elsewhere.

    Raises:
        Unreadable: one does, or it is a kind not read here.
    """
    for place in {folder, common}:
        for name in _PARTS:
            check_inside(place, name)
        for where, folders, names in os.walk(place / "refs"):
            for name in (*folders, *names):
                if os.path.islink(os.path.join(where, name)):
                    check_inside(Path(where), name)
    head = read_small(folder / "HEAD").partition(b"ref: ")[2].strip()
    if head and (not head.startswith(b"refs/") or b".." in head.split(b"/")):
        raise Unreadable(f"{folder / 'HEAD'} leads to {os.fsdecode(head)}")
    if (common / "reftable").exists():
        raise Unreadable("its references are a reftable, which is not read here")
    _check_own_objects(common / "objects")


def _folders(project: Path) -> tuple[Path, Path]:
    git = project / ".git"
    try:
        kind = git.lstat().st_mode
    except OSError:
        raise no_repository(project) from None
    if stat.S_ISDIR(kind):
        # For git, too, a folder without it is no repository.
        if not os.path.lexists(git / "HEAD"):
            raise NoRepository("the project is no git repository")
        if os.path.lexists(git / "commondir"):
            raise Unreadable(f"{git} says that it belongs to another repository")
        return git, git
    if not stat.S_ISREG(kind):
        raise Unreadable(f"{git} is neither a folder nor a file")
    folder = named_by(project)
    if folder is not None:
        common = shared_by(folder)
        if common != folder and linked_to(project) == common:
            return folder, common
        if common == folder and _knows(folder, project):
            return folder, folder
        if common == folder and _BARE.search(read_small(folder / "config")):
            raise Unreadable(*_bare(folder))
    raise Unreadable(
        f"{git} names {folder}, which does not know this folder",
        ways=(
            in_shell("git", "-C", project, "status"),
            in_shell("git", "-C", project, "worktree", "repair"),
        ),
    )


def no_repository(project: Path) -> NoRepository:
    """That a project without `.git` has none: it may be a git folder itself."""
    if all(os.path.exists(project / name) for name in ("HEAD", "objects", "refs")):
        return NoRepository(*_bare(project))
    return NoRepository("the project is no git repository")


def _bare(place: Path) -> tuple[str, tuple[str, ...]]:
    """That a repository is bare, and what helps."""
    tree, clone = (
        in_shell("git", "-C", place, "worktree", "add"),
        in_shell("git", "clone", place),
    )
    return f"{place} is a bare repository, without a work tree", (
        f"work in a worktree of it: {tree} FOLDER",
        f"work in a clone of it: {clone} FOLDER",
    )


def _knows(folder: Path, project: Path) -> bool:
    """Whether a git folder outside of a project is meant for it.

    That of a submodule says so (`core.worktree`). One of `--separate-git-dir` has an
    index that knows a file here by its inode, which no archive can know; before the
    first commit there is nothing to be read in it.
    """
    worktree = _WORKTREE.search(read_small(folder / "config"))
    if worktree is not None:
        there = folder / os.fsdecode(worktree[1].strip(b'"'))
        return is_same(there, project)
    if folder.name == ".git":
        return False
    try:
        entries = read_index(folder / "index", lambda _: iter(())).entries
    except FileNotFoundError:
        return not any((folder / "objects").glob("??/*")) and not any(
            (folder / "objects" / "pack").glob("*")
        )
    except (BrokenIndex, OSError):
        return False
    return any(
        entry.is_same_file(facts)
        for path, entry in entries.items()
        # By no link: that could lead to the files of another repository.
        if (facts := stat_at(project, path)) is not None
    )


def check_inside(folder: Path, name: str) -> None:
    """Refuse a part of a git folder that a link leads elsewhere.

    Raises:
        Unreadable: it does.
    """
    real = os.path.realpath(folder / name)
    if real != os.path.join(os.path.realpath(folder), name):
        raise Unreadable(f"{folder / name} leads to {real}")


def _check_own_objects(objects: Path) -> None:
    """Refuse objects of another repository: git's alternates, or a link to some.

    Who knows the name of a commit there could have all its texts shown.
    """
    alternates = objects / "info" / "alternates"
    if os.path.lexists(alternates):
        raise Unreadable(
            f"{alternates} borrows from another repository, which is not read; `git "
            "repack -a -d` makes a copy, then the file can be removed"
        )
    for folder in (objects, objects / "pack"):
        for name in os.listdir(folder) if folder.is_dir() else ():
            check_inside(folder, name)
    for folder in objects.glob("[0-9a-f][0-9a-f]"):
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink():
                    raise Unreadable(f"{entry.path} is a link, and no object")


@cache
def load_pygit2() -> Any:
    """pygit2, which is imported late: it takes longer than all that is beside it.

    Raises:
        Unreadable: it cannot be loaded here.
    """
    try:
        import pygit2
    except (ImportError, OSError) as exc:
        raise Unreadable(
            f"git's files are read by pygit2 1.20 or newer, which cannot be loaded: "
            f"{exc}",
            ways=("pip install --upgrade 'pygit2>=1.20,<2'",),
        ) from exc
    return pygit2


def open_repository(tree: Path, *, with_env: bool = False) -> pygit2.Repository:
    """The repository whose work tree is `tree`, and no other.

    Raises:
        Unreadable: it is bare, or configured to work elsewhere, or as `open_git`.
    """
    repo = open_git(tree, with_env=with_env)
    if repo.workdir is None:
        raise Unreadable(*_bare(tree))
    if not is_same(repo.workdir, tree):
        raise Unreadable(
            f"the repository of {tree} is configured to work in {repo.workdir}",
            ways=(in_shell("git", "-C", tree, "config", "--unset", "core.worktree"),),
        )
    return repo


def open_git(place: Path, *, with_env: bool = False) -> pygit2.Repository:
    """The repository of a work tree, or in a git folder.

    With `with_env` all of git's variables count, those of the index and of the objects,
    too; so only where the environment was made for it.

    Raises:
        Unreadable: it is not supported, or another user's.
    """
    lib = load_pygit2()
    known = lib.enums.RepositoryOpenFlag
    flags = known.NO_SEARCH | known.FROM_ENV if with_env else known.NO_SEARCH
    try:
        repo: pygit2.Repository = lib.Repository(str(place), flags)
    except lib.GitError as exc:
        raise _not_opened(place, str(exc)) from None
    return repo


def _not_opened(tree: Path, why: str) -> Unreadable:
    ways: tuple[str, ...] = ()
    why = why.removeprefix(f"{tree}: ")
    if "not owned by current user" in why:
        add = ("git", "config", "--global", "--add", "safe.directory", tree)
        ways = (in_shell(*add),)
    elif "extension" in why or "format" in why:
        ways = ("work in a clone without it: libgit2 does not read such repositories",)
    return Unreadable(f"{tree}: {why}", ways=ways)
