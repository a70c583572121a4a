"""What git says, which a command can tell: the commit, the branches, what is staged."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from bridge.freshness.looks import Look

_GITDIR = b"gitdir: "
_MAX_LINE = 4096 + len(_GITDIR)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def with_repository(looks: Iterable[Look]) -> Iterator[Look]:
    """The looks; of everything in a folder, also what git says of it."""
    for look in looks:
        yield look
        if look.kind == "everything":
            yield from _of_git(look)


def _of_git(look: Look) -> Iterator[Look]:
    git = f"{look.path}/.git"
    own = common = git
    if os.path.isfile(git):
        # A linked worktree: what its file names has HEAD, the main one the branches.
        yield look._replace(kind="file", path=git)
        named = _first_line(git).removeprefix(_GITDIR).strip()
        own = os.path.normpath(os.path.join(look.path, os.fsdecode(named)))
        common = os.path.dirname(os.path.dirname(own))
    for path in (f"{own}/HEAD", f"{own}/index", f"{common}/packed-refs"):
        yield look._replace(kind="file", path=path)
    yield look._replace(kind="contents", path=f"{common}/refs")


def _first_line(path: str) -> bytes:
    try:
        with open(os.open(path, _READ), "rb") as file:
            return file.readline(_MAX_LINE)
    except OSError:
        return b""
