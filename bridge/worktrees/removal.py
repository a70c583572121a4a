"""Remove a worktree of ours, with its branch; work that would be lost is refused.

Only what has a record beside it is removed: the folder, its entry in the repository,
its branch. The record goes last, so that a killed removal is gone on with.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.protocol.wording import in_shell
from bridge.worktrees import refs
from bridge.worktrees.attributes import listed
from bridge.worktrees.entries import entry_of, tree_of, users_of
from bridge.worktrees.refused import UnsavedWork, WorktreeRefused
from bridge.worktrees.repository import Git, bounded, opened
from bridge.worktrees.standing import look
from bridge.worktrees.worktree import Worktree, find, forget, write

if TYPE_CHECKING:
    from bridge.worktrees.standing import Status


@bounded
def remove(worktree: Worktree, *, discard: bool = False) -> None:
    """Remove a worktree and its branch; again, it does nothing.

    Ignored files go with it. A branch that has moved on stays until it is in another
    branch.

    Raises:
        UnsavedWork: something is not committed, or not merged; with `discard`, that is
            dropped.
        RepositoryBusy: somebody else is changing the repository.
        WorktreeRefused: the folder is not ours, or is locked (`git worktree lock`), or
            its branch is in use in another work tree.
    """
    folder = worktree.folder
    with opened(worktree.project) as git:
        known = find(folder)
        if known is None:
            if os.path.lexists(folder):
                raise WorktreeRefused(
                    f"{folder} is not a worktree of hostbridge: it has no record",
                    ways=(in_shell("git", "worktree", "remove", folder),),
                )
            return
        if (known.project, known.branch) != (worktree.project, worktree.branch):
            raise WorktreeRefused(
                f"{folder} is now the worktree of {known.branch!r}, not of "
                f"{worktree.branch!r}"
            )
        _refuse_used(git, known)
        if known.stage == "made" and not discard:
            _refuse_unsaved(look(git, known), known)
        write(known.at("removing"))
        remove_all(git, known)


@bounded
def refuse_unsaved(worktree: Worktree) -> None:
    """Refuse what `remove` would; nothing is changed.

    Raises: as `remove`.
    """
    with opened(worktree.project) as git:
        _refuse_used(git, worktree)
        if worktree.stage == "made":
            _refuse_unsaved(look(git, worktree), worktree)


def remove_all(git: Git, worktree: Worktree) -> None:
    """Remove what there is of a worktree, whatever it holds."""
    remove_tree(worktree.folder)
    entry = entry_of(git, worktree.folder)
    if entry is not None:
        remove_tree(entry)
    if worktree.branch and refs.tip(git, worktree.branch) is not None:
        refs.delete(git, worktree.branch)
    forget(worktree.folder)
    with suppress(OSError):
        worktree.folder.parent.rmdir()


def _refuse_used(git: Git, worktree: Worktree) -> None:
    """Refuse what somebody else uses, as git does."""
    folder = worktree.folder
    entry = entry_of(git, folder)
    if entry is not None and os.path.lexists(entry / "locked"):
        raise WorktreeRefused(
            f"{folder} is locked, so that it is not removed",
            ways=(in_shell("git", "worktree", "unlock", folder),),
        )
    for other, what in users_of(git, worktree.branch):
        if other != entry:
            raise WorktreeRefused(
                f"{folder}: its branch {worktree.branch!r} is {what} in "
                f"{tree_of(git, other)}",
                ways=("check out another branch there",),
            )


def _refuse_unsaved(found: Status, worktree: Worktree) -> None:
    what = []
    if found.changed:
        what.append(f"{listed(found.changed)} not committed")
    if not found.is_merged:
        what.append(f"{found.ahead} commits that are in no other branch")
    if what:
        words = f"{worktree.folder} holds {', and '.join(what)}"
        raise UnsavedWork(words, found.changed, found.ahead)


def remove_tree(folder: Path) -> None:
    """Remove a folder with all that is in it; no link is followed."""
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder, onerror=_unlocked)


def _unlocked(remove: Callable[..., Any], path: str, failed: Any) -> None:
    """Try once more, in a folder that its owner may not write to."""
    if isinstance(failed[1], FileNotFoundError):
        return
    if not isinstance(failed[1], PermissionError):
        raise failed[1]
    for one in (os.path.dirname(path), path):
        if not os.path.islink(one):
            os.chmod(one, 0o700)
    if remove in (os.rmdir, os.unlink):
        remove(path)
    else:
        shutil.rmtree(path)
