"""Files of a worktree whose making was killed: its own, and those of somebody else.

Such a worktree was handed out to nobody, but git shows it. What its making wrote, also
half of a file, may be written anew and removed; anything else is somebody's work.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.change.ignored import Ignored
from bridge.store.plain_file import open_plain
from bridge.worktrees import refs
from bridge.worktrees.attributes import listed, mode_at
from bridge.worktrees.refused import UnsavedWork

if TYPE_CHECKING:
    import pygit2

    from bridge.worktrees.repository import Git
    from bridge.worktrees.worktree import Worktree

_ID = re.compile(rb"\$Id: [0-9a-f]{40} ?\$")
_ANY_ID = re.compile(rb"\$Id[^$]*\$")
_OWN = (".git", ".git.hostbridge")


def refuse_work(git: Git, worktree: Worktree) -> None:
    """Refuse a half-made worktree with files that its making did not write.

    Raises:
        UnsavedWork: it has some; ignored files do not count, unless they are known.
    """
    folder = worktree.folder
    tip = refs.tip(git, worktree.branch) or worktree.start
    tree = git.repo[tip].peel(git.lib.Tree)
    ignored = Ignored(folder, git.repo, git.common)
    found: list[str] = []
    for above, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(f"{above}/{name}")]
        for name in (*files, *links):
            path = os.path.relpath(f"{above}/{name}", folder)
            if path in _OWN:
                continue
            blob = _blob(tree, path)
            if blob is None:
                is_work = not ignored.is_ignored(os.fsencode(path))
            else:
                is_work = not _is_begun(folder, path, blob.data)
            if is_work:
                found.append(path)
    if found:
        words = f"{folder} holds {listed(sorted(found))} not committed"
        raise UnsavedWork(words, tuple(sorted(found)), 0)


def _blob(tree: pygit2.Tree, path: str) -> pygit2.Blob | None:
    try:
        found = tree[path]
    except KeyError:
        return None
    return found if found.type_str == "blob" else None  # type: ignore[return-value]


def _is_begun(folder: Path, path: str, data: bytes) -> bool:
    """Whether a file is what is written for some data, or how that begins."""
    mode = mode_at(folder / path)
    if stat.S_ISLNK(mode):
        return os.fsencode(os.readlink(folder / path)) == data
    if not stat.S_ISREG(mode):
        return False
    with open_plain(folder / path, links=False) as file:
        text = _with_plain_ends(file.read())
    stored = _with_plain_ends(data)
    # libgit2 writes ids, which `write_idents` takes back.
    with_id = _ID.sub(b"$Id$", text)
    return stored.startswith(text) or _ANY_ID.sub(b"$Id$", stored).startswith(with_id)


def _with_plain_ends(text: bytes) -> bytes:
    """A text, or its beginning, without the ends of lines that git may have written."""
    return text.removesuffix(b"\r").replace(b"\r\n", b"\n")
