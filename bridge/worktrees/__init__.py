"""Git worktrees, commits and merges, without starting git."""

from bridge.worktrees.refused import (
    DirtyFiles,
    NoRepository,
    RepositoryBusy,
    UnsavedWork,
    WorktreeGone,
    WorktreeRefused,
)
from bridge.worktrees.worktree import Worktree, find, folder_of

__all__ = [
    "DirtyFiles",
    "NoRepository",
    "RepositoryBusy",
    "UnsavedWork",
    "Worktree",
    "WorktreeGone",
    "WorktreeRefused",
    "find",
    "folder_of",
]
