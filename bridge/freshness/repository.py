"""What git says that an agent can have seen, and which files it ignores.

Of everything in a folder: the commit, the branches, what is staged, how it came to
that, what git is in the middle of, and what it is told of the repository; but not the
user's own settings. Of a search: what says in the folders above it, up to the
repository's own, that files are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from bridge.change.gitfile import named_by, shared_by
from bridge.freshness.looks import IGNORING, Look
from bridge.policy.made_folders import GIT

# In what is a work tree's own: files, and folders.
_OWN = (
    "HEAD", "index", "config.worktree", "info/sparse-checkout", "logs/HEAD",
    "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "SQUASH_MSG", "ORIG_HEAD",
    "FETCH_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "BISECT_LOG",
    "BISECT_START", "BISECT_TERMS", "BISECT_NAMES", "BISECT_EXPECTED_REV",
)  # fmt: skip
_OWN_FOLDERS = ("rebase-merge", "rebase-apply", "sequencer", "refs")
# For all work trees of a repository; of the others, where they are.
_OF_ALL = ("config", "packed-refs", "shallow", "description", "logs/refs/stash")
_FOLDERS_OF_ALL = ("info", "refs", "reftable", "logs/refs/heads", "hooks")
_OTHERS, _WHERE = "worktrees", "{gitdir,HEAD,locked}"


def with_repository(looks: Iterable[Look]) -> Iterator[Look]:
    """The looks; of everything in a folder, and of searches, also what git says."""
    for look in looks:
        yield look
        if look.kind == "everything":
            yield from _of_git(look)
        elif look.kind == "contents":
            yield from _of_ignored(look)


def _of_git(look: Look) -> Iterator[Look]:
    git, own, common = folders_of(look.path)
    if own != git:
        yield _file(look, git)
    places = ((own, _OWN, _OWN_FOLDERS), (common, _OF_ALL, _FOLDERS_OF_ALL))
    for place, files, folders in places:
        yield from (_file(look, f"{place}/{name}") for name in files)
        for name in folders:
            yield _file(look, f"{place}/{name}")._replace(kind="contents")
    others = _file(look, f"{common}/{_OTHERS}")
    yield others._replace(kind="contents", pattern=_WHERE)


def _of_ignored(look: Look) -> Iterator[Look]:
    """What a search heeds outside of its folder."""
    found, folder = [], look.path
    while not os.path.lexists(f"{folder}/{GIT}"):
        if folder == "/":
            return
        folder = os.path.dirname(folder)
        found += [_file(look, os.path.join(folder, name)) for name in IGNORING]
    yield from found
    yield _file(look, f"{folders_of(folder)[2]}/info/exclude")


def folders_of(project: str) -> tuple[str, str, str]:
    """The `.git` of a work tree, and where it keeps its own, and what all share.

    All three are the same but for a linked worktree, and for a submodule.
    """
    git = Path(project, GIT)
    own = named_by(git.parent) or git
    return str(git), os.path.normpath(own), os.path.normpath(shared_by(own))


def _file(look: Look, path: str) -> Look:
    return Look("file", path, "", look.at_ms)
