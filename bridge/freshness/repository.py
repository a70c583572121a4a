"""What git says that an agent can have seen, and which files it ignores.

Of everything in a folder: the commit, the branches, what is staged. Of a search: what
says in the folders above it, up to the repository's own, that files are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from bridge.freshness.looks import IGNORING, Look
from bridge.policy.made_folders import GIT
from bridge.store.plain_file import open_plain

_GITDIR = "gitdir: "
_MAX_LINE = 4096 + len(_GITDIR)
# For all work trees of a repository.
_OF_ALL = ("config", "info/exclude", "packed-refs")


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
    yield from (_file(look, f"{own}/{name}") for name in ("HEAD", "index"))
    yield from (_file(look, f"{common}/{name}") for name in _OF_ALL)
    for name in ("refs", "reftable"):
        yield _file(look, f"{common}/{name}")._replace(kind="contents")


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
    git = own = f"{project}/{GIT}"
    if named := _first_line(git).removeprefix(_GITDIR):
        own = os.path.normpath(os.path.join(project, named))
    shared = os.path.normpath(os.path.join(own, _first_line(f"{own}/commondir")))
    return git, own, shared


def _first_line(path: str) -> str:
    """The first line of a small plain file; empty for anything else."""
    try:
        with open_plain(path) as file:
            return os.fsdecode(file.readline(_MAX_LINE).strip(b"\n"))
    except (OSError, ValueError):
        return ""


def _file(look: Look, path: str) -> Look:
    return Look("file", path, "", look.at_ms)
