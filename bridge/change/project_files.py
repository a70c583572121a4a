"""The files of a project: no link is followed, and only plain files are opened."""

import os
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from dulwich.ignore import IgnoreFilter, IgnoreFilterManager, read_ignore_patterns

from bridge.store.nofollow import open_beneath

MAX_DEPTH = 64


def stat_at(root: Path, path: bytes) -> os.stat_result | None:
    """The status of a path; None if nothing is there, or a link is on the way."""
    *folders, name = os.fsdecode(path).split("/")
    try:
        fd = open_beneath(root, folders, is_folder=True)
    except OSError:
        return None
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return None
    finally:
        os.close(fd)


def text_at(root: Path, path: bytes, max_bytes: int) -> bytes | None:
    """The text of a file, or where a link leads; None if it is too large or neither."""
    *folders, name = os.fsdecode(path).split("/")
    fd = open_beneath(root, folders, is_folder=True)
    try:
        facts = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if stat.S_ISLNK(facts.st_mode):
            return os.fsencode(os.readlink(name, dir_fd=fd))
    finally:
        os.close(fd)
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > max_bytes:
        return None
    with open(open_beneath(root, [*folders, name]), "rb") as file:
        data = file.read(max_bytes + 1)
    return data if len(data) <= max_bytes else None


def untracked(
    root: Path,
    known: Collection[bytes],
    exclude: Path | None,
    *,
    reaches: Callable[[bytes], bool],
) -> Iterator[bytes]:
    """Paths of files and links that git neither knows nor ignores.

    Only folders that `reaches` accepts are looked into. A folder with a `.git` in it is
    another project, and is left out.
    """
    filters = []
    if exclude is not None and exclude.is_file() and not exclude.is_symlink():
        with exclude.open("rb") as file:
            filters.append(IgnoreFilter(read_ignore_patterns(file)))
    ignored = IgnoreFilterManager(str(root), filters, ignorecase=False)
    for where, folders, names, _fd in os.fwalk(root):
        here = os.path.relpath(where, root)
        prefix = "" if here == "." else f"{here}/"
        links = [n for n in folders if os.path.islink(f"{where}/{n}")]
        folders[:] = sorted(
            name
            for name in folders
            if name not in (".git", *links)
            and reaches(os.fsencode(f"{prefix}{name}"))
            and not os.path.lexists(f"{where}/{name}/.git")
            and not ignored.is_ignored(f"{prefix}{name}/")
        )
        if prefix.count("/") >= MAX_DEPTH:
            folders.clear()
        for name in sorted([*names, *links]):
            path = f"{prefix}{name}"
            if name == ".git" or os.fsencode(path) in known:
                continue
            if not ignored.is_ignored(path):
                yield os.fsencode(path)
