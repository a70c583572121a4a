"""The files of a project: no link is followed, and only plain files are opened."""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from dulwich.ignore import IgnoreFilter, IgnoreFilterManager, read_ignore_patterns
from dulwich.objects import S_IFGITLINK

from bridge.store.nofollow import open_beneath

MAX_DEPTH = 64
OTHER = "another repository"
_MAX_LINE = 4096
_GITDIR = b"gitdir: "
_SLASH = ord("/")


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


class Ignored(IgnoreFilterManager):
    """What git ignores; a link to a folder is no folder."""

    def _filters_for(self, path: str) -> list[tuple[int, IgnoreFilter]]:
        # The patterns in a folder, such as `**/`, say nothing of the folder itself.
        return super()._filters_for(path.rstrip("/"))

    def _is_dir(self, path: str) -> bool:
        return path.endswith("/")


def ignored_in(root: Path, exclude: Path | None) -> Ignored:
    """What the project ignores; `exclude` is the repository's own file of patterns."""
    filters = []
    if exclude is not None and exclude.is_file() and not exclude.is_symlink():
        with exclude.open("rb") as file:
            filters.append(IgnoreFilter(read_ignore_patterns(file)))
    return Ignored(str(root), filters, ignorecase=False)


def why_closed(root: Path, folder: str) -> str | None:
    """Why new files in a folder are not looked for; None if they are."""
    place = root / folder
    if _is_repository(place):
        return OTHER
    if folder.count("/") >= MAX_DEPTH:
        return f"more than {MAX_DEPTH} folders deep"
    return None if os.access(place, os.R_OK | os.X_OK) else "it cannot be read"


def untracked(
    root: Path,
    known: Mapping[bytes, int],
    ignored: Ignored,
    *,
    reaches: Callable[[bytes], bool],
) -> Iterator[bytes]:
    """Paths of files and links that git neither knows nor ignores.

    Only folders that `reaches` accepts are looked into. One that is not looked into for
    another reason, as `why_closed` says, is named with a slash at its end. `known` has
    the modes of what git knows; what lies in a submodule is no file of the project.
    """
    with_known = {
        path[:end] for path in known for end in range(len(path)) if path[end] == _SLASH
    }
    for where, folders, names, _fd in os.fwalk(root):
        here = os.path.relpath(where, root)
        prefix = "" if here == "." else f"{here}/"
        links = [n for n in folders if os.path.islink(f"{where}/{n}")]
        found = sorted(name for name in folders if name not in (".git", *links))
        folders.clear()
        for name in found:
            path = f"{prefix}{name}"
            encoded = os.fsencode(path)
            if known.get(encoded) == S_IFGITLINK or not reaches(encoded):
                continue
            # Only a pattern for the folder itself: one for what lies in it, such as
            # `build/*`, may be followed by one that takes a file back.
            if encoded not in with_known and ignored.may_prune_directory(f"{path}/"):
                continue
            closed = why_closed(root, path)
            is_own = closed is None or (closed == OTHER and encoded in with_known)
            if is_own:
                folders.append(name)
            else:
                yield encoded + b"/"
        for name in sorted([*names, *links]):
            path = f"{prefix}{name}"
            if name == ".git" or os.fsencode(path) in known:
                continue
            if not ignored.is_ignored(path):
                yield os.fsencode(path)


def _is_repository(folder: Path) -> bool:
    """Whether git takes a folder for another repository: a `.git` alone is not one."""
    git = folder / ".git"
    if not os.path.lexists(git):
        return False
    try:
        with open(open_beneath(folder, [".git"]), "rb") as file:
            named = file.readline(_MAX_LINE)
        if not named.startswith(_GITDIR):
            return False
        git = folder / os.fsdecode(named.removeprefix(_GITDIR).strip())
    except (OSError, ValueError):
        pass
    parts = (git / "objects", git / "refs")
    is_linked = (git / "commondir").is_file()
    return os.path.lexists(git / "HEAD") and (is_linked or all(map(Path.is_dir, parts)))
