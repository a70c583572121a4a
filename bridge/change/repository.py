"""What git has of a project: the last commit, the index, and the texts of files.

It uses the parts of dulwich that read no configuration. Only a `.git` that belongs to
this folder is read: one that came in an archive could name another repository, and its
texts would end up in a prompt.
"""

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dulwich.index import Index, IndexEntry
from dulwich.object_format import SHA1, SHA256
from dulwich.object_store import DiskObjectStore, iter_tree_contents
from dulwich.objects import Blob, Commit, ObjectID
from dulwich.refs import HEADREF, DiskRefsContainer

from bridge.store.linked_worktree import find_linked

_MAX_DEPTH = 256
_MAX_SMALL = 1 << 16
_MAX_REFS = 8
_SHA256_HEX = 64
_PARTS = ("HEAD", "index", "objects", "refs", "packed-refs")
_WORKTREE = re.compile(rb"^\s*worktree\s*=\s*(.+?)\s*$", re.M)


class Unreadable(Exception):
    """There is no repository that may be read; `str()` says why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a commit: its mode, and the id of its text."""

    mode: int
    sha: ObjectID


class Repository:
    """The repository of a project.

    Attributes:
        head: the files of the last commit by path; empty before the first.
        index: the files of the index by path; of a conflict, our side.
        index_ns: when the index was written.
        exclude: the repository's own file of patterns to ignore.
    """

    def __init__(self, project: Path) -> None:
        """Read the last commit and the index.

        Raises:
            Unreadable: there is none, or it lies elsewhere.
        """
        folder, common = own_folders(project)
        refs = DiskRefsContainer(common, worktree_path=folder)
        try:
            commit_id = refs[HEADREF]
        except KeyError:
            commit_id = None
        is_long = len(commit_id or b"") == _SHA256_HEX
        ids = SHA256 if is_long else SHA1
        self._objects = DiskObjectStore(common / "objects", object_format=ids)
        self.exclude = common / "info" / "exclude"
        self.head = {} if commit_id is None else self._files_of(commit_id)
        # A clone without an index has changed nothing.
        self.index: Mapping[bytes, Entry | IndexEntry] = self.head
        self.index_ns = 0
        file = folder / "index"
        if file.exists():
            self.index_ns = file.stat().st_mtime_ns
            index = Index(file, object_format=ids)
            sides = {
                path: entry if isinstance(entry, IndexEntry) else entry.this
                for path, entry in index.items()
            }
            self.index = {path: entry for path, entry in sides.items() if entry}

    def text_of(self, entry: Entry) -> bytes | None:
        """The text of a file; None if this clone lacks it."""
        try:
            found = self._objects[entry.sha]
        except KeyError:
            return None
        return found.data if isinstance(found, Blob) else None

    def _files_of(self, commit_id: ObjectID) -> dict[bytes, Entry]:
        try:
            commit = self._objects[commit_id]
            tree = commit.tree if isinstance(commit, Commit) else None
            return {
                entry.path: Entry(entry.mode, entry.sha)
                for entry in iter_tree_contents(
                    self._objects, tree, max_depth=_MAX_DEPTH
                )
            }
        except KeyError as exc:
            raise Unreadable(f"this clone lacks the object {_key(exc)}") from None


def own_folders(project: Path) -> tuple[Path, Path]:
    """The git folder of this worktree, and the one that all worktrees share.

    Both belong to `project`, and nothing that is read in them leads elsewhere.

    Raises:
        Unreadable: there is none, it lies elsewhere, or it is a kind not read here.
    """
    folder, common = _folders(project)
    for name in _PARTS:
        check_inside(folder, name)
        check_inside(common, name)
    _check_head(folder, common)
    if (common / "reftable").exists():
        raise Unreadable("its references are a reftable, which is not read here")
    _check_own_objects(common / "objects")
    return folder, common


def _folders(project: Path) -> tuple[Path, Path]:
    git = project / ".git"
    try:
        kind = git.lstat().st_mode
    except OSError:
        raise Unreadable("the project is no git repository") from None
    if stat.S_ISDIR(kind):
        if os.path.lexists(git / "commondir"):
            raise Unreadable(f"{git} says that it belongs to another repository")
        return git, git
    if not stat.S_ISREG(kind):
        raise Unreadable(f"{git} is neither a folder nor a file")
    named = _read_small(git).partition(b"\n")[0]
    folder = project / os.fsdecode(named.removeprefix(b"gitdir: ").strip())
    linked = find_linked(project)
    if linked is not None and linked.is_known:
        return folder, linked.main / ".git"
    worktree = _WORKTREE.search(_read_small(folder / "config"))
    if worktree is not None and not os.path.lexists(folder / "commondir"):
        there = folder / os.fsdecode(worktree[1].strip(b'"'))
        if os.path.realpath(there) == os.path.realpath(project):
            return folder, folder
    raise Unreadable(f"{git} names {folder}, which does not know this folder")


def check_inside(folder: Path, name: str) -> None:
    """Refuse a part of a git folder that a link leads elsewhere.

    Raises:
        Unreadable: it does.
    """
    real = os.path.realpath(folder / name)
    if real != os.path.join(os.path.realpath(folder), name):
        raise Unreadable(f"{folder / name} leads to {real}")


def _check_own_objects(objects: Path) -> None:
    """Refuse objects of another repository: git's alternates, or a link to some.

    Who knows the name of a commit there could have all its texts shown.
    """
    alternates = objects / "info" / "alternates"
    if os.path.lexists(alternates):
        raise Unreadable(
            f"{alternates} borrows from another repository, which is not read; `git "
            "repack -a -d` makes a copy, then the file can be removed"
        )
    for folder in (objects, objects / "pack"):
        for name in os.listdir(folder) if folder.is_dir() else ():
            check_inside(folder, name)


def _check_head(folder: Path, common: Path) -> None:
    """Refuse a link on the way from HEAD, which could lead to another repository."""
    text = _read_small(folder / "HEAD")
    for _ in range(_MAX_REFS):
        if not text.startswith(b"ref: "):
            return
        name = os.fsdecode(text.removeprefix(b"ref: ").strip())
        check_inside(common, name)
        text = _read_small(common / name)


def _read_small(path: Path) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    with open(fd, "rb") as file:
        return file.read(_MAX_SMALL) if stat.S_ISREG(os.fstat(fd).st_mode) else b""


def _key(exc: KeyError) -> str:
    key = exc.args[0] if exc.args else b""
    return key.decode("ascii", "replace") if isinstance(key, bytes) else str(key)
