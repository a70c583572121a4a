"""What a repository knows of its worktrees: `.git/worktrees/ENTRY/`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.protocol.wording import in_shell
from bridge.store.linked_worktree import find_linked
from bridge.worktrees import refs
from bridge.worktrees.refused import WorktreeGone, WorktreeRefused
from bridge.worktrees.repository import open_tree

if TYPE_CHECKING:
    import pygit2

    from bridge.worktrees.repository import Git
    from bridge.worktrees.worktree import CommitId, Worktree

_MAX_BYTES = 1 << 16
# The branches that a rebase moves at its end.
_REBASED = (
    "rebase-merge/head-name",
    "rebase-merge/update-refs",
    "rebase-apply/head-name",
)
_OBJECT = re.compile("[0-9a-f]{40}")
_UNFINISHED = (
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "MERGE_HEAD",
    "MERGE_AUTOSTASH",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
)


def entries(git: Git) -> list[Path]:
    """The entries of all worktrees but the main one."""
    folder = git.common / "worktrees"
    return sorted(folder.iterdir()) if folder.is_dir() else []


def entry_of(git: Git, folder: Path) -> Path | None:
    """The entry of the worktree in `folder`; None if it has none.

    Raises:
        WorktreeRefused: it is a link: what is written there would be elsewhere.
    """
    found = next((one for one in entries(git) if folder_named(one) == folder), None)
    if found is not None and found.is_symlink():
        raise WorktreeRefused(
            f"{found}, where git keeps what it knows of {folder}, is a link",
            ways=("remove the link", "git worktree prune"),
        )
    return found


def users_of(git: Git, branch: str) -> Iterator[tuple[Path, str]]:
    """The git folders of the work trees that use a branch, and what they do with it."""
    name = refs.real_name(git, refs.HEADS + branch)
    for folder in (git.common, *entries(git)):
        if any(name in _lines(folder / file) for file in _REBASED):
            yield folder, "being rebased"
        elif refs.HEADS + first_line(folder / "BISECT_START") == name:
            yield folder, "being bisected"
        elif refs.real_name(git, refs.head_of(folder)) == name:
            yield folder, "checked out"


def is_unfinished(folder: Path) -> bool:
    """Whether a merge, a rebase or the like is not finished in a work tree.

    `folder` is its git folder, which alone has what was put aside (`--autostash`).
    """
    return any(os.path.lexists(folder / name) for name in _UNFINISHED)


def commits_of(git: Git, entry: Path) -> set[CommitId]:
    """The commits that a worktree's own HEAD, and its own references, are at.

    A HEAD that is on a branch is not among them: the branch has its commits.
    """
    named = {first_line(entry / "HEAD")}
    for above, _, files in os.walk(entry / "refs"):
        named.update(first_line(Path(above, name)) for name in files)
    found = set()
    for one in named:
        # Others are names of references, or damaged.
        if _OBJECT.fullmatch(one):
            with suppress(git.lib.InvalidSpecError):
                found.add(str(git.repo[one].peel(git.lib.Commit).id))
    return found


def refuse_other_users(git: Git, folder: Path, branch: str, entry: Path | None) -> None:
    """Refuse a branch that a work tree other than that of `entry` uses, as git does.

    Raises:
        WorktreeRefused: one has checked it out, or is rebasing it.
    """
    for other, what in users_of(git, branch):
        if other != entry:
            raise WorktreeRefused(
                f"{folder}: its branch {branch!r} is {what} in {tree_of(git, other)}",
                ways=(
                    "check out another branch there",
                    "git worktree prune, if that folder is gone",
                ),
            )


def tree_of(git: Git, folder: Path) -> Path:
    """The work tree of a git folder, for a message."""
    return git.common.parent if folder == git.common else folder_named(folder) or folder


def folder_named(entry: Path) -> Path | None:
    """The folder that an entry is of; None if it does not say."""
    line = first_line(entry / "gitdir")
    # Git can be configured to write relative paths.
    return Path(os.path.normpath(entry / line.removesuffix("/.git"))) if line else None


def first_line(path: Path) -> str:
    """The first line of one of git's small files; empty without one."""
    return next(iter(_lines(path)), "")


def _lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES)
    except OSError:
        return []
    return os.fsdecode(data).split("\n")


def open_worktree(git: Git, worktree: Worktree) -> tuple[pygit2.Repository, Path]:
    """The repository as seen from a worktree, and its entry.

    Raises:
        WorktreeGone: its folder is gone, or is not a worktree of this repository now.
    """
    folder = worktree.folder
    if not os.path.lexists(folder):
        raise WorktreeGone(
            f"{folder}, the worktree of {worktree.branch!r}, is gone; what was "
            "committed is in the branch",
            ways=("run the step that makes it again",),
        )
    linked = None if folder.is_symlink() else find_linked(folder)
    entry = entry_of(git, folder)
    if (
        entry is None
        or linked is None
        or not linked.is_known
        or linked.main / ".git" != git.common
    ):
        raise WorktreeGone(
            f"{folder} is no longer a worktree of {git.project}",
            ways=("run the step that makes it again", "git worktree repair"),
        )
    return open_tree(folder), entry


def check_branch(worktree: Worktree, entry: Path) -> None:
    """Refuse a worktree in which somebody has changed to something else.

    Raises:
        WorktreeRefused: it is on another branch, or on none.
    """
    name = refs.head_of(entry)
    if name != refs.HEADS + worktree.branch:
        on = f"on {name.removeprefix(refs.HEADS)!r}" if name else "on no branch"
        raise WorktreeRefused(
            f"{worktree.folder} is {on}, not on {worktree.branch!r}",
            ways=(in_shell("git", "-C", worktree.folder, "switch", worktree.branch),),
        )
