"""Whether a folder is a linked worktree, and which main worktree it belongs to.

A linked worktree holds a file `.git` with the line `gitdir: X/.git/worktrees/N`. It
belongs to X only if `X/.git/worktrees/N/gitdir` names the folder in turn: an archive
can bring a `.git` file, but cannot write into X. No link is followed, only plain files
are opened, and of each a bounded part is read.

Source: gitrepository-layout(5), "worktrees/<id>/gitdir"; git-worktree(1), "DETAILS".
Either path may be relative to the folder of the file that holds it (Git 2.48).
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bridge.store.plain_file import read_start

# The word before the path, and the longest path there is.
_MAX_BYTES = len("gitdir: ") + 4096
_WORKTREES = b"/.git/worktrees/"


class Linked(NamedTuple):
    """What the `.git` file of a folder claims.

    Attributes:
        main: the main worktree that it names, with links resolved.
        is_known: whether the main worktree lists the folder.
    """

    main: Path
    is_known: bool


def find_linked(folder: Path) -> Linked | None:
    """What the `.git` file of the real path `folder` says; None if not linked."""
    here = os.fsencode(folder)
    named = _first_line(here + b"/.git")
    if not named.startswith(b"gitdir: "):
        return None
    path, found, name = named.removeprefix(b"gitdir: ").rpartition(_WORKTREES)
    if not found or not name or b"/" in name or name in (b".", b".."):
        return None
    # An absolute path replaces the one it is joined to.
    main = os.path.join(here, path) if path else b"/"
    entry = main + _WORKTREES + name
    back = _first_line(entry + b"/gitdir")
    is_known = back.endswith(b"/.git") and here == os.path.realpath(
        os.path.join(entry, back.removesuffix(b".git"))
    )
    return Linked(Path(os.fsdecode(os.path.realpath(main))), is_known)


def worktrees_of(main: Path) -> list[str]:
    """The real folders of the linked worktrees that a main worktree lists."""
    listed = os.fsencode(main) + _WORKTREES
    found: list[str] = []
    with suppress(OSError):
        for name in sorted(os.listdir(listed)):
            back = _first_line(listed + name + b"/gitdir")
            if back.endswith(b"/.git"):
                folder = os.path.join(listed, name, back.removesuffix(b"/.git"))
                found.append(os.fsdecode(os.path.realpath(folder)))
    return found


def _first_line(path: bytes) -> bytes:
    """The first line of a small plain file; empty for anything else."""
    line = read_start(path, _MAX_BYTES + 1).partition(b"\n")[0]
    # A shell drops them, too.
    return line.replace(b"\0", b"") if len(line) <= _MAX_BYTES else b""
