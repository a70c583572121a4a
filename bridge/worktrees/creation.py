"""Make a worktree: its branch, its entry in the repository, its files.

`FOLDER` belongs to the project from then on (bridge/store/linked_worktree.py): hooks
and agents that work there use the project's state. Git sees an ordinary worktree:

    FOLDER/.git                          gitdir: PROJECT/.git/worktrees/ENTRY
    PROJECT/.git/worktrees/ENTRY/        HEAD, commondir, gitdir → FOLDER/.git, index

The entry appears whole. The record beside the folder is written first, so that the next
call can finish an interrupted one.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from bridge.store.linked_worktree import find_linked
from bridge.worktrees import refs
from bridge.worktrees.attributes import write_idents
from bridge.worktrees.entries import entry_of, refuse_other_users
from bridge.worktrees.git_locks import sync
from bridge.worktrees.half_made import refuse_work
from bridge.worktrees.index_file import IndexCopy
from bridge.worktrees.own_process import in_own_process
from bridge.worktrees.refused import WorktreeGone, WorktreeRefused
from bridge.worktrees.removal import remove_seen
from bridge.worktrees.repository import Git, bounded, open_tree, opened
from bridge.worktrees.worktree import Worktree, find, write

_ODD = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_ENTRIES = 1000
# Somebody waits for a run to begin.
_LOOK_S = 30.0


@bounded
def create(project: Path, branch: str, folder: Path, *, base: str = "HEAD") -> Worktree:
    """Make a worktree of `project` in `folder`, on the new branch `branch`.

    It begins from `base`: a branch, a tag or a commit. Called again, also after a kill
    at any place, it gives the same worktree; a folder that has gone is made again from
    its branch. Files that git would write by a filter (Git LFS) are written as they are
    in the repository; submodules are empty folders; a sparse checkout is made whole.

    Raises:
        NoRepository: there is none, or it has no commit.
        RepositoryBusy: somebody else is changing the repository.
        WorktreeRefused: a name is taken, `base` is unknown, the folder is in use, or
            holds work made since its making or removal was killed, or another work
            tree uses the branch.
    """
    folder = Path(os.path.realpath(folder.parent)) / folder.name
    with opened(project) as git:
        worktree = find(folder)
        known = (git.project, branch)
        if worktree is not None and (worktree.project, worktree.branch) != known:
            raise WorktreeRefused(
                f"{folder} is the worktree of {worktree.project} for the branch "
                f"{worktree.branch!r} already",
                ways=("choose another folder",),
            )
        if worktree is not None and worktree.stage == "removing":
            remove_seen(git, worktree)
            worktree = None
        if worktree is None:
            worktree = _planned(git, branch, folder, base)
            write(worktree)
        refuse_other_users(git, folder, branch, entry_of(git, folder))
        if worktree.stage == "making":
            refuse_work(git, worktree)
            _make(git, worktree)
            write(worktree.at("made"))
        else:
            _mend(git, worktree)
        return worktree.at("made")


def check_usable(project: Path) -> None:
    """Check that worktrees of a project could be made, by a process of its own.

    Raises:
        WorktreeRefused: there is no repository, it has no commit, or it cannot be read.
    """
    in_own_process(look_whether_usable, limit_s=_LOOK_S, project=str(project))


def look_whether_usable(*, project: str) -> dict[str, Any]:
    """As `check_usable`, in that process."""
    _check_usable(Path(project))
    return {}


@bounded
def _check_usable(project: Path) -> None:
    with opened(project) as git:
        refs.refuse_unborn(git)


def _planned(git: Git, branch: str, folder: Path, base: str) -> Worktree:
    refuse_place(git, folder)
    refs.refuse_unborn(git)
    commit, name = _resolved(git, base)
    refs.check_name(git, branch)
    refs.check_free(git, branch)
    return Worktree(git.project, folder, branch, name, commit, "making")


def refuse_place(git: Git, folder: Path) -> None:
    """Refuse a place for a new worktree that is in the project, or is taken.

    Raises:
        WorktreeRefused: it is.
    """
    if folder.is_relative_to(git.project):
        raise WorktreeRefused(
            f"{folder} lies in the project {git.project}, where `git clean` removes it",
            ways=("choose a folder outside",),
        )
    if os.path.lexists(folder):
        raise WorktreeRefused(
            f"{folder} is there already, and is not a worktree of hostbridge",
            ways=("choose another folder, or move it away",),
        )


def _resolved(git: Git, base: str) -> tuple[str, str]:
    """The commit that `base` names, and its branch if it is one."""
    try:
        commit = str(git.repo.revparse_single(base).peel(git.lib.Commit).id)
    except (KeyError, ValueError, git.lib.GitError):
        raise WorktreeRefused(
            f"{git.project}: {base!r} is no branch, tag or commit",
            ways=("git branch lists the branches",),
        ) from None
    if base == "HEAD":
        return commit, refs.head_of(git.folder).removeprefix(refs.HEADS)
    name = base.removeprefix(refs.HEADS)
    is_branch = git.repo.references.get(refs.HEADS + name) is not None
    return commit, name if is_branch else ""


def _make(git: Git, worktree: Worktree) -> None:
    if refs.tip(git, worktree.branch) is None:
        start = worktree.start
        refs.move(git, worktree.branch, None, start, why=f"branch: from {start}")
    _write_files(git, worktree)


def _mend(git: Git, worktree: Worktree) -> None:
    """Make again what is missing of a worktree that was whole once."""
    folder = worktree.folder
    if refs.tip(git, worktree.branch) is None:
        raise WorktreeGone(
            f"{folder}: its branch {worktree.branch!r} is gone from {git.project}",
            ways=("git reflog finds its last commit",),
        )
    linked = find_linked(folder)
    if linked is not None and linked.is_known and linked.main / ".git" == git.common:
        return
    if not os.path.lexists(folder):
        _write_files(git, worktree)
        return
    if (folder / ".git").is_dir() or not folder.is_dir() or folder.is_symlink():
        raise WorktreeGone(
            f"{folder} is no longer the worktree of {worktree.branch!r}",
            ways=("move it away, and run this again",),
        )
    # Its files are there, and may hold work: only what git keeps is made again.
    entry = linked_entry(git, worktree)
    index = IndexCopy(git, entry, git.locks.stage())
    if not (entry / "index").exists():
        tip = git.repo[refs.get_tip(git, worktree.branch)]
        index.fill(tip.peel(git.lib.Tree))
        with git.locks.held(entry / "index") as lock:
            lock.replace(index.data())


def _write_files(git: Git, worktree: Worktree) -> None:
    folder = worktree.folder
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    entry = linked_entry(git, worktree)
    # Nobody else works here yet: a lock is one that our own killed process left.
    (entry / "index.lock").unlink(missing_ok=True)
    (entry / "index").unlink(missing_ok=True)
    tree = open_tree(folder)
    how = git.lib.enums.CheckoutStrategy
    tree.checkout_head(  # type: ignore[no-untyped-call] # pygit2 leaves it so
        strategy=how.FORCE | how.RECREATE_MISSING
    )
    write_idents(tree, folder)
    sync(folder)


def linked_entry(git: Git, worktree: Worktree) -> Path:
    """Write the two files that name one another; the entry in the repository.

    Without a branch its HEAD is the commit that it began from.
    """
    folder = worktree.folder
    entry = entry_of(git, folder) or _free_entry(git, folder)
    # It comes first: `git worktree prune` removes entries whose folder has none.
    near = folder / ".git.hostbridge"
    near.write_bytes(b"gitdir: %b\n" % os.fsencode(entry))
    near.replace(folder / ".git")
    if not entry.exists():
        stage = git.locks.stage() / "entry"
        stage.mkdir(mode=0o777)
        on = f"ref: {refs.HEADS}{worktree.branch}" if worktree.branch else ""
        (stage / "HEAD").write_text(f"{on or worktree.start}\n")
        (stage / "commondir").write_text("../..\n")
        (stage / "gitdir").write_bytes(os.fsencode(folder) + b"/.git\n")
        entry.parent.mkdir(exist_ok=True)
        os.rename(stage, entry)
        sync(entry.parent)
    return entry


def _free_entry(git: Git, folder: Path) -> Path:
    name = _ODD.sub("-", f"hostbridge-{folder.parent.name}-{folder.name}")[:100]
    entries = git.common / "worktrees"
    for number in range(1, _MAX_ENTRIES):
        entry = entries / (name if number == 1 else f"{name}-{number}")
        if not os.path.lexists(entry):
            return entry
    raise WorktreeRefused(f"{entries} is full", ways=("git worktree prune",))
