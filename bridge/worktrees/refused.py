"""Why something is not done with a worktree: each names the place and the way out."""

from __future__ import annotations

from bridge.errors import BridgeError


class WorktreeRefused(BridgeError):
    """A worktree cannot be made, committed, merged or removed; nothing was lost."""

    code = "worktree"


class NoRepository(WorktreeRefused):
    """The project has no git repository that can be worked in."""


class RepositoryBusy(WorktreeRefused):
    """Somebody held a lock of the repository for the whole waiting time."""


class WorktreeGone(WorktreeRefused):
    """The folder of a worktree, or git's entry for it, is no longer there."""


class UnsavedWork(WorktreeRefused):
    """The worktree holds work that is in no branch that stays.

    Attributes:
        files: what is not committed.
        commits: how many commits are not merged.
    """

    def __init__(self, what: str, files: tuple[str, ...], commits: int) -> None:
        super().__init__(
            what,
            ways=(
                "commit and merge it",
                "or remove the worktree with `discard`, which drops that work",
            ),
        )
        self.files = files
        self.commits = commits


class DirtyFiles(WorktreeRefused):
    """A merge would overwrite changes in the work tree that are not committed.

    Attributes:
        files: the files that it would overwrite.
    """

    def __init__(self, what: str, files: tuple[str, ...]) -> None:
        super().__init__(
            what, ways=("commit them, or move them away, and merge again",)
        )
        self.files = files
