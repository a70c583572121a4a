"""The files of a work tree: what lies there, and how a change of trees gets there.

A change is made file by file: each is written elsewhere first and then renamed, so that
after a kill every file is the old one or the new one, and the change can be made again.
No link in the work tree is followed.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.change.stored import has_ident
from bridge.worktrees.attributes import stored_ident
from bridge.worktrees.index_file import LINK, SUBMODULE, Entry, mode_of
from bridge.worktrees.refused import DirtyFiles, WorktreeRefused

if TYPE_CHECKING:
    import pygit2

    from bridge.worktrees.repository import Git

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Change(NamedTuple):
    """One file of a change: what it was in the old tree, and is in the new one."""

    path: str
    old: Entry | None
    new: Entry | None


def changes(old: pygit2.Tree, new: pygit2.Tree) -> list[Change]:
    """The files in which two trees differ, by path.

    Raises:
        WorktreeRefused: one of them is where none may be.
    """
    found: dict[str, Change] = {}
    for delta in old.diff_to_tree(new).deltas:
        before, after = _entry(delta.old_file), _entry(delta.new_file)
        path = os.fsdecode(delta.new_file.raw_path)
        parts_of(path)
        # A file that becomes a link is reported twice: as gone, and as new.
        other = found.get(path, Change(path, None, None))
        found[path] = Change(path, before or other.old, after or other.new)
    return [found[path] for path in sorted(found)]


def _entry(file: pygit2.DiffFile) -> Entry | None:
    is_there = file.mode and str(file.id).strip("0")
    return Entry(str(file.id), int(file.mode)) if is_there else None


def dirty(git: Git, planned: Sequence[Change]) -> tuple[str, ...]:
    """The files that lie in the way of a change, and are in neither of its trees."""
    look = _Look(git, planned)
    return tuple(sorted({one for change in planned for one in look.in_the_way(change)}))


class _Look:
    def __init__(self, git: Git, planned: Sequence[Change]) -> None:
        self._git = git
        self._root = git.project
        self._planned = {change.path: change for change in planned}
        config = git.repo.config
        key = "core.filemode"
        self._has_modes = config.get_bool(key) if key in config else True

    def in_the_way(self, change: Change) -> Iterator[str]:
        """The paths that the change of one file would overwrite."""
        entries = (change.old, change.new)
        last = change.new or change.old
        if last is not None and last.mode == SUBMODULE:
            if change.new is None and self._is_checked_out_submodule(change.path):
                yield change.path
            return
        if (above := self._above(change.path)) is not None:
            # A file where a folder must be: fine if it goes.
            if change.new is not None and not self._goes(above):
                yield above
            return
        place = self._root / change.path
        try:
            facts = place.lstat()
        except FileNotFoundError:
            return
        if stat.S_ISDIR(facts.st_mode):
            if change.new is not None:
                yield from self._staying_below(place)
        elif not any(self._is_as(change.path, facts, one) for one in entries if one):
            yield change.path

    def _is_checked_out_submodule(self, path: str) -> bool:
        """Whether a submodule has its own files where files of ours are to come."""
        below = f"{path}/"
        return os.path.lexists(self._root / path / ".git") and any(
            one.startswith(below) and change.new is not None
            for one, change in self._planned.items()
        )

    def _above(self, path: str) -> str | None:
        """The first part of a path that is no folder, if there is one."""
        parts = path.split("/")
        for end in range(1, len(parts)):
            above = "/".join(parts[:end])
            try:
                facts = (self._root / above).lstat()
            except FileNotFoundError:
                return None
            if not stat.S_ISDIR(facts.st_mode):
                return above
        return None

    def _goes(self, path: str) -> bool:
        change = self._planned.get(path)
        if change is None or change.old is None:
            return False
        # What somebody has put in the place of a submodule stays.
        return change.new is None and change.old.mode != SUBMODULE

    def _staying_below(self, folder: Path) -> Iterator[str]:
        for above, folders, files in os.walk(folder):
            links = (name for name in folders if (Path(above) / name).is_symlink())
            for name in (*files, *links):
                path = str((Path(above) / name).relative_to(self._root))
                if not self._goes(path):
                    yield path

    def _is_as(self, path: str, facts: os.stat_result, entry: Entry) -> bool:
        is_link = stat.S_ISLNK(facts.st_mode)
        if not is_link and not stat.S_ISREG(facts.st_mode):
            return False
        lib = self._git.lib
        if is_link != (entry.mode == LINK):
            return False
        if is_link:
            target = os.fsencode(os.readlink(self._root / path))
            return str(lib.hash(target)) == entry.id
        if self._has_modes and mode_of(is_link, facts.st_mode) != entry.mode:
            return False
        text = stored_ident(self._git.repo, self._root, path)
        if text is not None:
            return str(lib.hash(text)) == entry.id
        blob, name = lib.enums.ObjectType.BLOB, os.fsencode(path)
        # As a text, it could not be one that is not UTF-8.
        found = self._git.repo.hashfile(path, blob, name)  # type: ignore[arg-type]
        return str(found) == entry.id


class _Facts(NamedTuple):
    """What tells a file from one that was written later in its place."""

    inode: int
    mode: int
    size: int
    changed_ns: int


Seen = dict[str, _Facts | None]


def seen(git: Git, planned: Sequence[Change]) -> Seen:
    """What lies in the places of a change, for `publish`; asked before `dirty`."""
    return {change.path: _facts(git.project / change.path) for change in planned}


def _facts(place: Path | str, fd: int | None = None) -> _Facts | None:
    """The facts of a file; None if there is none, or a folder."""
    try:
        facts = os.stat(place, dir_fd=fd, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(facts.st_mode):
        return None
    return _Facts(facts.st_ino, facts.st_mode, facts.st_size, facts.st_mtime_ns)


def publish(git: Git, planned: Sequence[Change], stage: Path, before: Seen) -> None:
    """Bring the work tree from the old files to the new ones, through the file `stage`.

    What is not `dirty` may be done again, from any place on the way.

    Raises:
        DirtyFiles: a file is no longer as it was `seen`; those before it are new.
    """
    root = os.open(git.project, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for change in planned:
            if change.new is None:
                _remove(root, change, before)
        # The others are written as these say; git sees to that, too.
        first = [one for one in planned if _is_about_attributes(one.path)]
        for change in (*first, *(one for one in planned if one not in first)):
            if change.new is not None:
                _put(git, root, change, stage, before)
        os.fsync(root)
    finally:
        os.close(root)


def _is_about_attributes(path: str) -> bool:
    return path.rpartition("/")[2] == ".gitattributes"


def _stage(git: Git, path: str, entry: Entry, stage: Path) -> None:
    """Write a file of the repository as git would write it at `path`."""
    blob = git.repo[entry.id].peel(git.lib.Blob)
    stage.unlink(missing_ok=True)
    if entry.mode == LINK:
        os.symlink(blob.data, os.fsencode(stage))
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    # Attributes look at a path; one that is not UTF-8 cannot be asked about as it is.
    name = os.fsencode(path).decode("utf-8", "replace")
    mode = git.lib.enums.FilterMode.TO_WORKTREE
    with open(os.open(stage, flags, entry.mode & 0o777 | 0o222), "wb") as file:
        has_id = has_ident(git.repo, os.fsencode(path)) and b"$Id" in blob.data
        if has_id or git.repo.load_filter_list(name, mode) is None:
            file.write(blob.data)
        else:
            with git.lib.BlobIO(blob, as_path=name) as source:
                shutil.copyfileobj(source, file)


def parts_of(path: str) -> list[str]:
    """The parts of a path in a tree, which anybody may have written.

    Raises:
        WorktreeRefused: it would lead out of the work tree, or into `.git`.
    """
    parts = path.split("/")
    # Some file systems leave characters out of a name, and take any case.
    plain = {"".join(filter(str.isprintable, part)).casefold() for part in parts}
    if {"", ".", ".."} & {*parts} or {".git", "git~1"} & plain:
        raise WorktreeRefused(f"{path!r} is no path that a commit may hold")
    return parts


@contextmanager
def _folder_of(root: int, path: str, *, make: bool) -> Iterator[tuple[int, str]]:
    """The folder of a path, opened part by part without following a link."""
    *above, name = parts_of(path)
    fd = os.dup(root)
    try:
        for part in above:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=fd)
            below = os.open(part, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd, name
    finally:
        os.close(fd)


def _refuse_newer(path: str, fd: int, name: str, before: Seen) -> None:
    """Refuse a file that somebody has written since: the last look at it."""
    facts = _facts(name, fd)
    if facts is not None and facts != before[path]:
        raise DirtyFiles(
            f"{path} was saved while the merge was being written, and stays so; "
            "other files may be merged already",
            (path,),
        )


def _remove(root: int, change: Change, before: Seen) -> None:
    """Remove a file, and the folders that are empty then, as git does."""
    path, old = change.path, change.old
    absent = (FileNotFoundError, NotADirectoryError)
    with suppress(*absent), _folder_of(root, path, make=False) as (fd, name):
        if _is_folder(fd, name) or (old is not None and old.mode == SUBMODULE):
            # Of a submodule that is no longer one: what is there stays.
            with suppress(OSError):
                os.rmdir(name, dir_fd=fd)
        else:
            _refuse_newer(path, fd, name, before)
            os.unlink(name, dir_fd=fd)
    above = path.rpartition("/")[0]
    with suppress(OSError):
        while above:
            with _folder_of(root, above, make=False) as (fd, name):
                os.rmdir(name, dir_fd=fd)
            above = above.rpartition("/")[0]


def _put(git: Git, root: int, change: Change, stage: Path, before: Seen) -> None:
    with _folder_of(root, change.path, make=True) as (fd, name):
        new = change.new
        if new is None or new.mode == SUBMODULE:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=fd)
            return
        _stage(git, change.path, new, stage)
        if _is_folder(fd, name):
            # Empty by now, but for empty folders.
            for _, folders, _, above in os.fwalk(name, topdown=False, dir_fd=fd):
                for each in folders:
                    os.rmdir(each, dir_fd=above)
            os.rmdir(name, dir_fd=fd)
        _refuse_newer(change.path, fd, name, before)
        _move(stage, fd, name)


def _move(source: Path, fd: int, name: str) -> None:
    try:
        os.rename(source, name, dst_dir_fd=fd)
    except OSError as exc:
        if exc.errno != errno.EXDEV:
            raise
        # The work tree is on another file system than its repository.
        near = f".hostbridge-{name}"[:255]
        with suppress(FileNotFoundError):
            os.unlink(near, dir_fd=fd)
        _copy(source, fd, near)
        os.rename(near, name, src_dir_fd=fd, dst_dir_fd=fd)


def _copy(source: Path, fd: int, name: str) -> None:
    if source.is_symlink():
        os.symlink(os.readlink(source), name, dir_fd=fd)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    mode = stat.S_IMODE(source.stat().st_mode)
    with open(os.open(name, flags, mode, dir_fd=fd), "wb") as target:
        target.write(source.read_bytes())


def _is_folder(fd: int, name: str) -> bool:
    try:
        facts = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(facts.st_mode)
