"""Files that git treats by a program: those of filters and of merge drivers.

libgit2 runs none of them. A file that goes through a filter (Git LFS, git-crypt) would
be committed, or written, as it must not be; a file with its own merge driver would be
merged as plain text. So both are named, and left to git.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bridge.worktrees.refused import WorktreeRefused

if TYPE_CHECKING:
    from bridge.worktrees.repository import Git
    from bridge.worktrees.worktree import CommitId

_TREATING = ("filter", "working-tree-encoding")
_BUILT_IN = {"text", "binary", "union"}
MAX_NAMED = 10


def check_unfiltered(
    git: Git, paths: Iterable[str], what: str, *commits: CommitId
) -> None:
    """Refuse files that a filter would change, by the attributes that hold now.

    `commits`: their attributes count, too.

    Raises:
        WorktreeRefused: some of `paths` are such files.
    """
    for path in paths:
        for name in _TREATING:
            for value in _values(git, path, name, commits):
                if isinstance(value, str):
                    raise WorktreeRefused(
                        f"{git.project}: {path} has the attribute {name}={value}, and "
                        f"hostbridge runs no filter: it will not {what}",
                        ways=("do this step with git",),
                    )


def driven(git: Git, paths: Iterable[str], *commits: CommitId) -> list[str]:
    """Those of `paths` that git would merge by a program, or in a filtered form."""
    found = []
    for path in paths:
        drivers = [
            value
            for value in _values(git, path, "merge", commits)
            if isinstance(value, str) and value not in _BUILT_IN
        ]
        filters = [
            value
            for name in _TREATING
            for value in _values(git, path, name, commits)
            if isinstance(value, str)
        ]
        if drivers or filters:
            found.append(path)
    return found


def listed(paths: Iterable[str]) -> str:
    """Some paths for a message, and how many more there are."""
    paths = list(paths)
    more = len(paths) - MAX_NAMED
    shown = ", ".join(paths[:MAX_NAMED])
    return f"{shown} and {more:,} more" if more > 0 else shown


def _values(
    git: Git, path: str, name: str, commits: Iterable[CommitId]
) -> list[str | bool | None]:
    flags = git.lib.enums.AttrCheck
    place = os.fsencode(path)
    found = [git.repo.get_attr(place, name)]
    for commit in commits:
        how = flags.INDEX_ONLY | flags.INCLUDE_COMMIT
        found.append(git.repo.get_attr(place, name, how, commit))
    return found
