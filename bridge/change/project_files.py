"""The files of a project: no link is followed, and only plain files are opened."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from bridge.change.gitfile import is_repository
from bridge.store.plain_file import open_beneath

MAX_DEPTH = 64
OTHER = "another repository"
SUBMODULE = 0o160000


def stat_at(root: Path, path: bytes) -> os.stat_result | None:
    """The status of a path; None if nothing is there, or a link is on the way."""
    *folders, name = os.fsdecode(path).removesuffix("/").split("/")
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
    known: Mapping[bytes, int],
    hides: Callable[[bytes], bool],
    *,
    reaches: Callable[[bytes], bool],
) -> Iterator[bytes]:
    """Paths of files and links that git neither knows nor ignores.

    Only folders that `reaches` accepts are entered. A folder that is not entered for
    another reason (`why_closed`) is yielded with a slash at its end. `known` has the
    modes of what git knows. As for git, nothing in a submodule counts, and no pipe,
    socket or device.
    """
    with_known = _folders_of(known)
    for where, folders, names, fd in os.fwalk(root):
        here = os.fsencode(os.path.relpath(where, root))
        prefix = b"" if here == b"." else here + b"/"
        links = [n for n in folders if os.path.islink(f"{where}/{n}")]
        found = sorted(name for name in folders if name not in (".git", *links))
        folders.clear()
        for name in found:
            path = prefix + os.fsencode(name)
            if known.get(path) == SUBMODULE or not reaches(path):
                continue
            # Git hides what is new in there, whether it knows other files of it or not.
            if hides(path + b"/"):
                continue
            closed = why_closed(root, os.fsdecode(path))
            if closed is None or (closed == OTHER and path in with_known):
                folders.append(name)
            else:
                yield path + b"/"
        for name in sorted([*names, *links]):
            path = prefix + os.fsencode(name)
            if name != ".git" and path not in known and not hides(path):
                kind = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
                if stat.S_ISREG(kind) or stat.S_ISLNK(kind):
                    yield path


def _folders_of(paths: Iterable[bytes]) -> set[bytes]:
    """All folders above these paths."""
    found: set[bytes] = set()
    for path in paths:
        while (end := path.rfind(b"/")) > 0 and (path := path[:end]) not in found:
            found.add(path)
    return found


def why_closed(root: Path, folder: str) -> str | None:
    """Why new files in a folder are not looked for; None if they are."""
    place = root / folder
    if is_repository(place):
        return OTHER
    if folder.count("/") >= MAX_DEPTH:
        return f"more than {MAX_DEPTH} folders deep"
    return None if os.access(place, os.R_OK | os.X_OK) else "it cannot be read"
