"""Where the `.git` of a folder leads: itself, or as a file to another folder.

Git calls such a file a gitfile. Only plain files are opened, and no link is followed.

Source: gitrepository-layout(5); git-worktree(1), "DETAILS"; git, setup.c.
"""

import os
import re
import stat
from pathlib import Path

_MAX_SMALL = 1 << 16
_GITDIR = b"gitdir: "
# Without such a head git takes no folder for that of a repository.
_HEAD = re.compile(rb"ref:\s*refs/|[0-9a-f]{40}")


def named_by(project: Path) -> Path | None:
    """The git folder that a file `.git` names; None if it names none."""
    line = _path_in(project / ".git")
    if not line.startswith(_GITDIR):
        return None
    return project / os.fsdecode(line.removeprefix(_GITDIR))


def _path_in(file: Path) -> bytes:
    """The path in a small file as git reads it: all but the ends of lines at its end.

    Who took the first line of more would find a repository where git finds none.
    """
    data = read_small(file)
    return data.rstrip(b"\r\n").partition(b"\0")[0] if len(data) < _MAX_SMALL else b""


def is_named(project: Path, folder: str) -> bool:
    """Whether a git folder is the one that the `.git` of a project is, or names."""
    return is_same(named_by(project) or project / ".git", folder)


def shared_by(folder: Path) -> Path:
    """The git folder that all worktrees share, of the one of a worktree."""
    line = _path_in(folder / "commondir")
    if not line:
        return folder
    return Path(os.path.realpath(folder / os.fsdecode(line)))


def linked_to(project: Path) -> Path | None:
    """The git folder whose linked worktree a folder is; None if it is of none.

    That folder must name this one in turn: an archive can bring a `.git` file, but
    cannot write into another repository.
    """
    folder = named_by(project)
    if folder is None:
        return None
    back = read_small(folder / "gitdir").partition(b"\n")[0]
    there = os.path.join(folder, os.fsdecode(back))
    common = shared_by(folder)
    is_known = back.endswith(b"/.git") and is_same(os.path.dirname(there), project)
    is_in = os.path.realpath(folder.parent) == os.path.join(common, "worktrees")
    has_head = _HEAD.match(read_small(folder / "HEAD")) is not None
    return common if is_known and is_in and has_head else None


def is_same(one: str | Path, other: str | Path) -> bool:
    """Whether two paths lead to the same place."""
    return os.path.realpath(one) == os.path.realpath(other)


def read_small(path: Path) -> bytes:
    """The beginning of a plain file; empty if it is not one."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(fd, _MAX_SMALL) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)


def is_repository(folder: Path) -> bool:
    """Whether git takes a folder for a repository: a `.git` alone is not one."""
    git = named_by(folder) or folder / ".git"
    parts = (git / "objects", git / "refs")
    is_linked = (git / "commondir").is_file()
    return os.path.lexists(git / "HEAD") and (is_linked or all(map(Path.is_dir, parts)))
