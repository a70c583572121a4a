"""How a worktree stands: what is not committed in it, and what is not merged."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.worktrees import refs
from bridge.worktrees.attributes import differing
from bridge.worktrees.entries import commits_of, entry_of, is_unfinished, open_worktree
from bridge.worktrees.refused import WorktreeGone
from bridge.worktrees.repository import Git, bounded, opened

if TYPE_CHECKING:
    from bridge.worktrees.worktree import CommitId, Worktree

# What holds the start of a worktree, as a branch does.
_OTHERS = ("HEAD", "refs/tags/", "refs/remotes/")


@dataclass(frozen=True, slots=True)
class Status:
    """A worktree at one moment.

    Attributes:
        exists: whether its folder is there, and is its worktree.
        branch: the branch that is checked out in it; None on none.
        changed: the files that differ from the last commit, ignored ones left out.
        ahead: how many commits it has that are not in its base.
        is_merged: whether its commits, and those it began from, are all elsewhere; also
            those that only its own HEAD and references have, without its folder, too.
        is_unfinished: whether a merge, a rebase or the like is not finished in it.
        differs: whether what is committed differs from what it began with; also true
            where its branch is gone, and nobody can tell.
    """

    exists: bool
    branch: str | None
    changed: tuple[str, ...]
    ahead: int
    is_merged: bool
    is_unfinished: bool
    differs: bool


@bounded
def status(worktree: Worktree) -> Status:
    """Look at a worktree.

    Raises:
        WorktreeRefused: its repository cannot be read.
    """
    with opened(worktree.project) as git:
        return look(git, worktree)


def look(git: Git, worktree: Worktree) -> Status:
    """As `status`, in a repository that is open."""
    tips = {refs.tip(git, worktree.branch)} - {None}
    branch: str | None = None
    changed: tuple[str, ...] = ()
    exists = True
    entry = entry_of(git, worktree.folder)
    if entry is not None:
        tips |= commits_of(git, entry)
    try:
        tree, opened_entry = open_worktree(git, worktree)
    except WorktreeGone:
        exists = False
    else:
        branch = refs.head_of(opened_entry).removeprefix(refs.HEADS) or None
        changed = tuple(differing(tree, worktree.folder, git.common))
    known = [tip for tip in tips if tip is not None]
    since = refs.tip(git, worktree.base) if worktree.base else worktree.start
    ahead = sum(git.repo.ahead_behind(tip, since or worktree.start)[0] for tip in known)
    is_merged = all(_is_elsewhere(git, tip, worktree) for tip in known)
    began = _tree(git, worktree.start)
    differs = not known or any(_tree(git, tip) != began for tip in known)
    is_open = entry is not None and is_unfinished(entry)
    return Status(exists, branch, changed, ahead, is_merged, is_open, differs)


def _tree(git: Git, commit: CommitId) -> str:
    return str(git.repo[commit].peel(git.lib.Tree).id)


def _is_elsewhere(git: Git, commit: CommitId, worktree: Worktree) -> bool:
    """Whether a commit is in a branch but the worktree's own, or is of its start.

    The start may have been another worktree's work, which went as this branch holds it:
    so it has to be somewhere else, too, or its branch was moved off it.
    """
    if _is_held(git, commit, worktree, refs.HEADS):
        return True
    start = worktree.start
    if commit != start and not git.repo.descendant_of(start, commit):
        return False
    base = git.repo.references.get(refs.HEADS + worktree.base)
    moved = {str(each.oid_new) for each in base.log()} if base else set()
    return start in moved or _is_held(git, start, worktree, *_OTHERS)


def _is_held(git: Git, commit: CommitId, worktree: Worktree, *starts: str) -> bool:
    """Whether a commit is in a reference with such a name, but the own branch."""
    own = refs.HEADS + worktree.branch
    for name in ("HEAD", *git.repo.references):
        if not name.startswith(starts):
            continue
        # Another name of the same branch goes nowhere without it.
        with suppress(KeyError, git.lib.InvalidSpecError):
            found = git.repo.references[name].resolve()
            other = str(found.peel(git.lib.Commit).id)
            if found.name != own and (
                other == commit or git.repo.descendant_of(other, commit)
            ):
                return True
    return False
