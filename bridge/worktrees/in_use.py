"""Whether somebody works in a worktree that no run needs any more.

`removal` looks at work that would be lost. This is about what is no work for git, and
still in use: files that it ignores, a shell that is open there, another branch.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from bridge.worktrees.entries import check_branch, entry_of
from bridge.worktrees.refused import WorktreeRefused
from bridge.worktrees.repository import bounded, opened
from bridge.worktrees.worktree import Worktree

_PROCESSES = Path("/proc")


@bounded
def refuse_in_use(worktree: Worktree, *, since_s: float) -> None:
    """Refuse a worktree in which somebody works.

    `since_s`, in seconds since 1970: a file that is younger says so, an ignored one,
    too. Which folders processes work in is known on Linux alone.

    Raises:
        WorktreeRefused: somebody does, or it is on another branch, or on none.
    """
    folder = worktree.folder
    with opened(worktree.project) as git:
        entry = entry_of(git, folder)
        if entry is not None:
            check_branch(worktree, entry)
    if (pid := _process_in(folder)) is not None:
        raise WorktreeRefused(f"{folder} is the working folder of the process {pid}")
    if (path := _younger(folder, since_s)) is not None:
        raise WorktreeRefused(f"{folder} is in use: {path} was written not long ago")


def _process_in(folder: Path) -> str | None:
    """A process that works in a folder, or below it.

    Source: proc(5), "/proc/pid/cwd".
    """
    names = os.listdir(_PROCESSES) if _PROCESSES.is_dir() else []
    for name in filter(str.isdigit, names):
        # It has ended, or is another user's.
        with suppress(OSError):
            if Path(os.readlink(_PROCESSES / name / "cwd")).is_relative_to(folder):
                return name
    return None


def _younger(folder: Path, since_s: float) -> str | None:
    """A file that was written since then, by its time of change: nobody sets that."""
    for above, _, files in os.walk(folder):
        for name in files:
            with suppress(FileNotFoundError):
                if os.lstat(f"{above}/{name}").st_ctime > since_s:
                    return os.path.relpath(f"{above}/{name}", folder)
    return None
