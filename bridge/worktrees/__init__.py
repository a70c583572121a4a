"""Git worktrees, commits and merges, without starting git."""

from bridge.worktrees.commits import commit
from bridge.worktrees.creation import check_usable, create
from bridge.worktrees.merging import Conflict, Merged, current_branch, merge
from bridge.worktrees.refused import (
    DirtyFiles,
    NoRepository,
    RepositoryBusy,
    UnsavedWork,
    WorktreeGone,
    WorktreeRefused,
)
from bridge.worktrees.removal import remove
from bridge.worktrees.standing import Status, status
from bridge.worktrees.worktree import Worktree, find, folder_of

__all__ = [
    "Conflict",
    "DirtyFiles",
    "Merged",
    "NoRepository",
    "RepositoryBusy",
    "Status",
    "UnsavedWork",
    "Worktree",
    "WorktreeGone",
    "WorktreeRefused",
    "check_usable",
    "commit",
    "create",
    "current_branch",
    "find",
    "folder_of",
    "merge",
    "remove",
    "status",
]
