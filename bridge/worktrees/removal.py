"""Remove a worktree of ours, with its branch; work that would be lost is refused.

Only what has a record beside it is removed: the folder, its entry in the repository,
its branch. The record goes last, so that the next call can finish a killed removal;
what was made there since is work as before.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from bridge.change.ignored import Ignored
from bridge.protocol.wording import in_shell
from bridge.worktrees import refs
from bridge.worktrees.attributes import listed
from bridge.worktrees.entries import entry_of, tree_of, users_of
from bridge.worktrees.refused import UnsavedWork, WorktreeRefused
from bridge.worktrees.repository import Git, bounded, opened
from bridge.worktrees.standing import look
from bridge.worktrees.worktree import Worktree, find, forget, write

_ITS_START = "the commit that it began from, which is"


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
        if discard:
            _refuse_used(git, known)
        else:
            refuse_loss(git, known)
        write(known.at("removing"))
        remove_all(git, known)


@bounded
def refuse_unsaved(worktree: Worktree) -> None:
    """Refuse what `remove` would; nothing is changed.

    Raises: as `remove`.
    """
    with opened(worktree.project) as git:
        refuse_loss(git, worktree)


def refuse_loss(git: Git, worktree: Worktree) -> None:
    """As `refuse_unsaved`, in a repository that is open."""
    _refuse_used(git, worktree)
    _refuse_unsaved(git, worktree)


def remove_all(git: Git, worktree: Worktree) -> None:
    """Remove what there is of a worktree, whatever it holds."""
    remove_tree(worktree.folder)
    entry = entry_of(git, worktree.folder)
    if entry is not None:
        # At once: without its first file git knows it no more, and its branch is held.
        gone = git.locks.stage() / "entry"
        entry.rename(gone)
        remove_tree(gone)
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


def _refuse_unsaved(git: Git, worktree: Worktree) -> None:
    has_moved = refs.tip(git, worktree.branch) not in (None, worktree.start)
    if worktree.stage == "making" and not has_moved:
        # It was never handed out, though git shows it.
        return
    folder, what = worktree.folder, []
    found, inner = look(git, worktree), _repositories(git, folder)
    # Of a removal that was killed, some files are gone.
    changed = tuple(p for p in found.changed if _is_work(worktree, p))
    if changed:
        what.append(f"{listed(changed)} not committed")
    if not found.exists and worktree.stage == "made" and _is_filled(folder):
        what.append(f"files, and is no longer a worktree of {git.project}")
    if not found.is_merged:
        commits = f"{found.ahead} commits that are" if found.ahead else _ITS_START
        what.append(f"{commits} in no other branch")
    if inner:
        what.append(f"{listed(inner)}, with commits that may be nowhere else")
    if what:
        words = f"{folder} holds {', and '.join(what)}"
        raise UnsavedWork(words, changed, found.ahead)


def _is_work(worktree: Worktree, path: str) -> bool:
    return worktree.stage == "made" or os.path.lexists(worktree.folder / path)


def _is_filled(folder: Path) -> bool:
    return folder.is_dir() and not folder.is_symlink() and any(folder.iterdir())


def _repositories(git: Git, folder: Path) -> list[str]:
    """The submodules and other repositories below a worktree, unless git ignores them.

    Git refuses them, too. What it keeps of a submodule is in the worktree's entry, even
    without its files.
    """
    entry = entry_of(git, folder)
    kept = entry / "modules" if entry is not None else None
    ignored = Ignored(folder, git.repo, git.common)
    found = set(os.listdir(kept)) if kept is not None and kept.is_dir() else set()
    for above, folders, files in () if folder.is_symlink() else os.walk(folder):
        if ".git" in (*folders, *files) and above != str(folder):
            path = os.path.relpath(above, folder)
            if not ignored.is_ignored(os.fsencode(f"{path}/")):
                found.add(path)
    return sorted(found)


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
