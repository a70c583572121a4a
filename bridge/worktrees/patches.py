"""What one commit changes against another, as text for those who cannot see both."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.worktrees.repository import Git
    from bridge.worktrees.worktree import CommitId

MAX_CHARS = 100_000


def patch(git: Git, old: CommitId, new: CommitId) -> str:
    """A unified diff of at most some `MAX_CHARS`; files left out are named at its end.

    Of a binary file it only says that it differs.
    """
    shown: list[str] = []
    left_out: list[str] = []
    size = 0
    for each in filter(None, git.repo.diff(old, new)):
        text = each.data.decode("utf-8", "replace")
        size += len(text)
        if size <= MAX_CHARS:
            shown.append(text)
        else:
            size -= len(text)
            left_out.append(each.delta.new_file.path)
    if left_out:
        shown.append(f"Left out, too long: {', '.join(left_out)}\n"[:MAX_CHARS])
    return "".join(shown)
