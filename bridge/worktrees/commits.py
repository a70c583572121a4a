"""Commit what was left in a worktree: new, changed and removed files, unless ignored.

No hook runs, and nothing is signed. The author is the one that git is configured for,
otherwise hostbridge.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from bridge.protocol.wording import in_shell
from bridge.worktrees import refs
from bridge.worktrees.attributes import (
    check_unfiltered,
    differing,
    listed,
    stored_ident,
)
from bridge.worktrees.entries import (
    check_branch,
    is_unfinished,
    open_worktree,
    refuse_other_users,
)
from bridge.worktrees.index_file import LINK, SUBMODULE, Entry, IndexCopy, mode_of
from bridge.worktrees.refused import WorktreeRefused
from bridge.worktrees.repository import Git, bounded, opened

if TYPE_CHECKING:
    from bridge.worktrees.worktree import CommitId, Worktree


@bounded
def commit(worktree: Worktree, message: str) -> CommitId | None:
    """Commit all that is not committed in a worktree; None if there is nothing.

    Called again after a kill, it gives the commit that it had made.

    Raises:
        WorktreeGone: its folder is not there.
        RepositoryBusy: somebody else is changing the repository.
        WorktreeRefused: it is on another branch, in the middle of a merge, another work
            tree uses its branch, or it holds what cannot be committed here: a
            repository of its own, a file in a submodule, a filtered file.
    """
    with opened(worktree.project) as git:
        tree, entry = open_worktree(git, worktree)
        check_branch(worktree, entry)
        refuse_other_users(git, worktree.folder, worktree.branch, entry)
        old = refs.get_tip(git, worktree.branch)
        _refuse_unfinished(worktree, entry)
        # Attributes and files are those of the worktree from here on.
        here = git._replace(repo=tree, project=worktree.folder, folder=entry)
        stage = git.locks.stage()
        with git.locks.held(entry / "index") as lock:
            index = IndexCopy(here, entry, stage)
            _refuse_conflicts(worktree, index)
            is_new = _gather(here, index)
            made = _commit(here, old, index, message)
            if made or is_new:
                lock.replace(index.data())
            if made:
                refs.move(here, worktree.branch, old, made, why=f"commit: {message}")
                return made
        return _made_before(git, worktree, message)


def _refuse_unfinished(worktree: Worktree, entry: Path) -> None:
    if is_unfinished(entry):
        look = in_shell("git", "-C", worktree.folder, "status")
        raise WorktreeRefused(
            f"{worktree.folder} is in the middle of a merge, a rebase or the like",
            ways=(f"{look} says how to end it",),
        )


def _refuse_conflicts(worktree: Worktree, index: IndexCopy) -> None:
    if index.conflicts:
        raise WorktreeRefused(
            f"{worktree.folder}: a merge of {listed(index.conflicts)} is not resolved",
            ways=("resolve it there, and git add the files",),
        )


def _gather(git: Git, index: IndexCopy) -> bool:
    """Put what the files are into the index; whether anything differed."""
    paths = differing(git.repo, git.project, git.common)
    check_unfiltered(git, paths, "commit it")
    for path in paths:
        _refuse_inside(git, index, path)
    index.put_all({path: _entry_of(git, index, path) for path in paths})
    return bool(paths)


def _refuse_inside(git: Git, index: IndexCopy, path: str) -> None:
    """Refuse a file in the folder of a submodule, as git does."""
    for above in map(str, PurePosixPath(path).parents):
        known = index[above]
        if known is not None and known.mode == SUBMODULE:
            _folder(known, above, git.project / above)


def _entry_of(git: Git, index: IndexCopy, path: str) -> Entry | None:
    place, known = git.project / path, index[path]
    try:
        facts = place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(facts.st_mode):
        return _folder(known, path, place)
    if stat.S_ISLNK(facts.st_mode):
        return Entry(str(git.repo.create_blob(os.fsencode(os.readlink(place)))), LINK)
    mode = mode_of(False, facts.st_mode)  # noqa: FBT003 - as it is defined
    if known is not None and not _has(git, "core.filemode"):
        mode = known.mode
    if known is not None and known.mode == LINK and not _has(git, "core.symlinks"):
        mode = LINK
    text = stored_ident(git.repo, git.project, path)
    if text is not None:
        return Entry(str(git.repo.create_blob(text)), mode)
    return Entry(str(git.repo.create_blob_fromworkdir(path)), mode)


def _folder(known: Entry | None, path: str, place: Path) -> Entry | None:
    """A folder where git expects none: of a submodule, or a repository of its own."""
    if known is not None and known.mode != SUBMODULE:
        # A file has become a folder; what is in it is new.
        return None
    what = "submodule" if known else "repository of its own"
    raise WorktreeRefused(
        f"{place} is a {what}, which cannot be committed here",
        ways=("commit it with git", f"or add {path} to .gitignore"),
    )


def _has(git: Git, key: str) -> bool:
    config = git.repo.config
    return config.get_bool(key) if key in config else True


def _commit(git: Git, old: CommitId, index: IndexCopy, message: str) -> CommitId | None:
    parent = git.repo[old]
    tree = index.write_tree()
    if tree.id == parent.peel(git.lib.Tree).id:
        return None
    who = refs.signature(git)
    made = git.repo.create_commit(None, who, who, message, tree.id, [parent.id])
    return str(made)


def _made_before(git: Git, worktree: Worktree, message: str) -> CommitId | None:
    """The last commit, if it is one of the branch and has this message."""
    tip = refs.tip(git, worktree.branch)
    if tip is None or tip == worktree.start:
        return None
    last = git.repo[tip].peel(git.lib.Commit)
    return tip if last.message.strip() == message.strip() else None
