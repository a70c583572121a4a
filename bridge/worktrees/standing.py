"""How a worktree stands: what is not committed in it, and what is not merged."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.worktrees import refs
from bridge.worktrees.attributes import differing
from bridge.worktrees.entries import open_worktree
from bridge.worktrees.refused import WorktreeGone
from bridge.worktrees.repository import Git, bounded, opened

if TYPE_CHECKING:
    from bridge.worktrees.worktree import CommitId, Worktree


@dataclass(frozen=True, slots=True)
class Status:
    """A worktree at one moment.

    Attributes:
        exists: whether its folder is there, and is its worktree.
        branch: the branch that is checked out in it; None on none.
        changed: the files that differ from the last commit, ignored ones left out.
        ahead: how many commits it has that are not in its base.
        is_merged: whether its commits are all in another branch.
        differs: whether what is committed differs from what it began with, or that
            cannot be told: its branch is gone.
    """

    exists: bool
    branch: str | None
    changed: tuple[str, ...]
    ahead: int
    is_merged: bool
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
    try:
        tree, entry = open_worktree(git, worktree)
    except WorktreeGone:
        exists = False
    else:
        branch = refs.head_of(entry).removeprefix(refs.HEADS) or None
        changed = tuple(differing(tree, worktree.folder))
        if branch is None:
            tips.add(str(tree.head.target))
    known = [tip for tip in tips if tip is not None]
    since = refs.tip(git, worktree.base) if worktree.base else worktree.start
    ahead = sum(git.repo.ahead_behind(tip, since or worktree.start)[0] for tip in known)
    is_merged = all(_is_elsewhere(git, tip, worktree) for tip in known)
    began = _tree(git, worktree.start)
    differs = not known or any(_tree(git, tip) != began for tip in known)
    return Status(exists, branch, changed, ahead, is_merged, differs)


def _tree(git: Git, commit: CommitId) -> str:
    return str(git.repo[commit].peel(git.lib.Tree).id)


def _is_elsewhere(git: Git, commit: CommitId, worktree: Worktree) -> bool:
    """Whether a commit is in the start, or in a branch but the worktree's own."""
    if commit == worktree.start or git.repo.descendant_of(worktree.start, commit):
        return True
    own = refs.HEADS + worktree.branch
    for name in git.repo.references:
        if not name.startswith(refs.HEADS):
            continue
        # Another name of the same branch goes nowhere without it.
        with suppress(KeyError):
            found = git.repo.references[name].resolve()
            other = str(found.peel(git.lib.Commit).id)
            if found.name != own and (
                other == commit or git.repo.descendant_of(other, commit)
            ):
                return True
    return False
