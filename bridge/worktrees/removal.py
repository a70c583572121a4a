"""Remove a worktree of ours, with its branch; work that would be lost is refused.

Only what has a record beside it is removed: the folder, its entry in the repository,
its branch. The record goes last, so that the next call can finish a killed removal;
what was made there since is work as before.

Somebody may still work in it. So the folder is renamed before it is removed: nobody
finds it by its path any more, and what was written since the look is seen in time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.change.ignored import Ignored
from bridge.protocol.wording import in_shell
from bridge.worktrees import refs
from bridge.worktrees.attributes import is_folder, listed
from bridge.worktrees.entries import (
    commits_of,
    entries,
    entry_of,
    folder_named,
    refuse_other_users,
)
from bridge.worktrees.half_made import refuse_work
from bridge.worktrees.refused import UnsavedWork, WorktreeRefused
from bridge.worktrees.repository import Git, bounded, opened
from bridge.worktrees.standing import look
from bridge.worktrees.worktree import Worktree, find, forget, write

if TYPE_CHECKING:
    from bridge.worktrees.worktree import CommitId

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
        remove_seen(git, known, discard=discard)


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


def remove_seen(git: Git, worktree: Worktree, *, discard: bool = False) -> None:
    """Look at a worktree as `remove` does, and remove it as it was seen."""
    folder = worktree.folder
    _bring_back(folder)
    if discard:
        _refuse_used(git, worktree)
        write(worktree.at("removing"))
        remove_all(git, worktree)
        return
    # The time of its file system, which may be another machine's.
    write(worktree)
    since_ns = folder.with_name(f"{folder.name}.json").lstat().st_ctime_ns
    tip = refs.tip(git, worktree.branch)
    refuse_loss(git, worktree)
    write(worktree.at("removing"))
    _take_away(folder)
    if late := _written_since(git, _away(folder), since_ns):
        _bring_back(folder)
        write(worktree)
        words = f"{folder} holds {listed(late)}, written while it was to be removed"
        raise UnsavedWork(words, late, 0)
    remove_all(git, worktree, tip=tip)


def remove_all(git: Git, worktree: Worktree, *, tip: CommitId | None = None) -> None:
    """Remove what there is of a worktree, whatever it holds.

    Raises:
        RepositoryBusy: its branch is no longer at `tip`; by default that is not asked.
    """
    _take_away(worktree.folder)
    _remove_files(_away(worktree.folder))
    entry = entry_of(git, worktree.folder)
    if entry is not None:
        # At once: without its first file git knows it no more, and its branch is held.
        gone = git.locks.stage() / "entry"
        entry.rename(gone)
        remove_tree(gone)
    if worktree.branch and refs.tip(git, worktree.branch) is not None:
        refs.delete(git, worktree.branch, tip)
    forget(worktree.folder)
    with suppress(OSError):
        worktree.folder.parent.rmdir()


def _away(folder: Path) -> Path:
    """What a folder is called while it is removed."""
    return folder.with_name(f".{folder.name}.removed")


def _take_away(folder: Path) -> None:
    if os.path.lexists(folder):
        _remove_files(_away(folder))
        folder.rename(_away(folder))


def _bring_back(folder: Path) -> None:
    """Undo what a killed removal began.

    Raises:
        WorktreeRefused: there is another folder in its place now.
    """
    away = _away(folder)
    if not os.path.lexists(away):
        return
    if os.path.lexists(folder):
        raise WorktreeRefused(
            f"{folder} was made anew while {away} was removed",
            ways=("look at both, and keep what you need in the first",),
        )
    away.rename(folder)


def _written_since(git: Git, folder: Path, since_ns: int) -> tuple[str, ...]:
    """The files that were written there since then, unless git ignores them."""
    ignored = Ignored(folder, git.repo, git.common)
    found = []
    for above, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(f"{above}/{name}")]
        for name in (*files, *links):
            path = os.path.relpath(os.path.join(above, name), folder)
            with suppress(FileNotFoundError):
                is_late = (folder / path).lstat().st_ctime_ns > since_ns
                if is_late and not ignored.is_ignored(os.fsencode(path)):
                    found.append(path)
    return tuple(sorted(found))


def _refuse_used(git: Git, worktree: Worktree) -> None:
    """Refuse what somebody else uses, as git does."""
    folder = worktree.folder
    entry = entry_of(git, folder)
    for one, place in ((entry, folder), *_inner_worktrees(git, folder)):
        if one is not None and os.path.lexists(one / "locked"):
            raise WorktreeRefused(
                f"{place} is locked, so that it is not removed",
                ways=(in_shell("git", "worktree", "unlock", place),),
            )
    refuse_other_users(git, folder, worktree.branch, entry)


def _refuse_unsaved(git: Git, worktree: Worktree) -> None:
    if worktree.stage == "making" and not _has_moved(git, worktree):
        # It was never handed out, though git shows it.
        refuse_work(git, worktree)
        return
    folder, what = worktree.folder, []
    found, inner = look(git, worktree), _repositories(git, folder)
    below = [place.relative_to(folder) for _, place in _inner_worktrees(git, folder)]
    inner = sorted({*inner, *map(str, below)})
    # Of a removal that was killed, some files are gone.
    changed = tuple(p for p in found.changed if _is_work(worktree, p))
    if changed:
        what.append(f"{listed(changed)} not committed")
    # A removal takes `.git` last: what is there without it came later.
    if not found.exists and worktree.stage != "making" and _is_filled(folder):
        what.append(f"files, and is no longer a worktree of {git.project}")
    if not found.is_merged:
        commits = f"{found.ahead} commits that are" if found.ahead else _ITS_START
        what.append(f"{commits} in no other branch")
    if found.is_unfinished:
        what.append("a merge, a rebase or the like that is not finished")
    if inner:
        what.append(f"{listed(inner)}, with commits that may be nowhere else")
    if what:
        words = f"{folder} holds {', and '.join(what)}"
        raise UnsavedWork(words, changed, found.ahead)


def _has_moved(git: Git, worktree: Worktree) -> bool:
    """Whether there are commits since it was begun, on its branch or on none."""
    entry = entry_of(git, worktree.folder)
    own = commits_of(git, entry) if entry is not None else set()
    return bool({refs.tip(git, worktree.branch), *own} - {None, worktree.start})


def _is_work(worktree: Worktree, path: str) -> bool:
    return worktree.stage == "made" or os.path.lexists(worktree.folder / path)


def _is_filled(folder: Path) -> bool:
    return folder.is_symlink() or (is_folder(folder) and any(folder.iterdir()))


def _inner_worktrees(git: Git, folder: Path) -> list[tuple[Path, Path]]:
    """Other worktrees of the repository that lie in one: their entries and folders.

    Whether git ignores that folder says nothing of the work in them.
    """
    found = []
    for entry in entries(git):
        place = Path(os.path.realpath(folder_named(entry) or "/"))
        if folder in place.parents and place.exists():
            found.append((entry, place))
    return found


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


def _remove_files(folder: Path) -> None:
    """Remove what `remove_tree` does, `.git` last: without it nobody can tell work."""
    # One that cannot be read is let in below.
    with suppress(PermissionError):
        for name in os.listdir(folder) if is_folder(folder) else ():
            if name != ".git":
                remove_tree(folder / name)
    remove_tree(folder)


def remove_tree(place: Path) -> None:
    """Remove a folder with all that is in it, or a file; no link is followed."""
    if is_folder(place):
        shutil.rmtree(place, onerror=_unlocked)
    elif os.path.lexists(place):
        try:
            place.unlink()
        except OSError as exc:
            _unlocked(os.unlink, str(place), (OSError, exc, None))


def _unlocked(remove: Callable[..., Any], path: str, failed: Any) -> None:
    """Try once more, in a folder that its owner may not write to."""
    if isinstance(failed[1], FileNotFoundError):
        return
    if not isinstance(failed[1], PermissionError):
        raise failed[1]
    for one in map(Path, (os.path.dirname(path), path)):
        # A file may have other names, and keeps its mode.
        if is_folder(one):
            one.chmod(0o700)
    if remove in (os.rmdir, os.unlink):
        remove(path)
    else:
        shutil.rmtree(path)
