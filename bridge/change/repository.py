"""What git has of a project: commits, the index, and the texts of files.

It uses the parts of dulwich that read no configuration. Only a `.git` that belongs to
this folder is read: one that came in an archive could name another repository, and its
texts would end up in a prompt. For the same reason no path in it may leave the project.
"""

import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dulwich.index import ConflictedIndexEntry, Index, IndexEntry
from dulwich.object_format import SHA1, SHA256
from dulwich.object_store import DiskObjectStore, iter_tree_contents
from dulwich.objects import Blob, Commit, ObjectID
from dulwich.refs import HEADREF, DiskRefsContainer, Ref, is_per_worktree_ref

from bridge.change.diffs import path_text
from bridge.store.linked_worktree import find_linked

_MAX_DEPTH = 256
_MAX_SMALL = 1 << 16
_MAX_REFS = 8
_INDEX = re.compile(r"index(\.lock)?|next-index-\d+\.lock")
_PARTS = ("HEAD", "index", "objects", "refs", "packed-refs", "shallow")
_WORKTREE = re.compile(rb"^\s*worktree\s*=\s*(.+?)\s*$", re.M)
# Two facts of the configuration: they start nothing, and lead nowhere.
_SHA256 = re.compile(rb"^\s*objectformat\s*=\s*sha256\s*$", re.M | re.I)
_NO_MODES = re.compile(rb"^\s*filemode\s*=\s*(false|no|off|0)\s*$", re.M | re.I)
# No plain name in a path: these lead elsewhere, or into the repository itself.
_NOT_PLAIN = frozenset({b"", b".", b"..", b".git"})
_TO_ADD = 0x2000


class Unreadable(Exception):
    """There is no repository that may be read; `str()` says why."""


class NoRepository(Unreadable):
    """The project is no git repository."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a commit: its mode, and the id of its text."""

    mode: int
    sha: ObjectID


class Repository:
    """The repository of a project.

    Attributes:
        objects: all objects by id.
        refs: all names of commits.
        index_ns: when the index was written; 0 without an index.
        exclude: the repository's own file of patterns to ignore.
        keeps_modes: whether the files say themselves which of them are programs.
    """

    def __init__(self, project: Path, index: str | None = None) -> None:
        """Look which repository it is; `index` is the file in place of its index.

        Raises:
            Unreadable: there is none, or it lies elsewhere, or `index` does.
        """
        self._folder, self._common = own_folders(project)
        self.refs = DiskRefsContainer(self._common, worktree_path=self._folder)
        config = read_small(self._common / "config")
        self._ids = SHA256 if _SHA256.search(config) else SHA1
        self.objects = DiskObjectStore(
            self._common / "objects", object_format=self._ids
        )
        self.exclude = self._common / "info" / "exclude"
        self.keeps_modes = _NO_MODES.search(config) is None
        self._index_file = self._folder / _index_name(self._folder, index)
        has_index = self._index_file.exists()
        if index is not None and not has_index:
            raise Unreadable(f"{index} is gone: the commit that it was for has ended")
        self.index_ns = self._index_file.stat().st_mtime_ns if has_index else 0

    @cached_property
    def head_id(self) -> ObjectID | None:
        """The last commit; None before the first."""
        return self.commit_at(HEADREF)

    @cached_property
    def head(self) -> Mapping[bytes, Entry]:
        """The files of the last commit by path; none before the first."""
        return {} if self.head_id is None else self.files_of(self.head_id)

    @cached_property
    def index(self) -> Mapping[bytes, Entry | IndexEntry]:
        """The files of the index by path; of a conflict, our side.

        A clone without an index has changed nothing: there it is the last commit.
        """
        sides = {
            path: entry if isinstance(entry, IndexEntry) else entry.this
            for path, entry in self._index.items()
        }
        found = {path: entry for path, entry in sides.items() if entry}
        return found if self.index_ns else self.head

    @cached_property
    def conflicts(self) -> frozenset[bytes]:
        """The paths in the index that a merge has left open."""
        sides = self._index.items()
        return frozenset(p for p, entry in sides if not isinstance(entry, IndexEntry))

    @cached_property
    def shallow(self) -> frozenset[ObjectID]:
        """The commits whose parents a shallow clone lacks."""
        return frozenset(map(ObjectID, read_small(self._common / "shallow").split()))

    @cached_property
    def _index(self) -> Mapping[bytes, IndexEntry | ConflictedIndexEntry]:
        if not self.index_ns:
            return {}
        index = Index(self._index_file, object_format=self._ids)
        check_plain(index)
        return dict(index.items())

    def commit_at(self, name: bytes) -> ObjectID | None:
        """What a reference is at; None if there is none of this name.

        Raises:
            Unreadable: a link is on the way.
        """
        check_ref(self._folder, self._common, name)
        try:
            return self.refs[Ref(name)]
        except (KeyError, IsADirectoryError, NotADirectoryError):
            return None

    def text_of(self, entry: Entry) -> bytes | None:
        """The text of a file; None if this clone lacks it."""
        try:
            found = self.objects[entry.sha]
        except KeyError:
            return None
        return found.data if isinstance(found, Blob) else None

    def files_of(self, commit_id: ObjectID) -> dict[bytes, Entry]:
        """The files of a commit, by path.

        Raises:
            Unreadable: this clone lacks some of it, or a path leads elsewhere.
        """
        try:
            commit = self.objects[commit_id]
            tree = commit.tree if isinstance(commit, Commit) else None
            found = {
                entry.path: Entry(entry.mode, entry.sha)
                for entry in iter_tree_contents(
                    self.objects, tree, max_depth=_MAX_DEPTH
                )
            }
        except KeyError as exc:
            raise Unreadable(f"this clone lacks the object {key_text(exc)}") from None
        check_plain(found)
        return found


def check_plain(paths: Iterable[bytes]) -> None:
    """Refuse paths that git itself never makes, and that lead out of the project.

    Raises:
        Unreadable: one does.
    """
    for path in paths:
        if not _NOT_PLAIN.isdisjoint(path.lower().split(b"/")) or b"\0" in path:
            raise Unreadable(f"it has a file {path_text(path)}, which is no plain path")


def is_to_be_added(entry: Entry | IndexEntry) -> bool:
    """Whether the index only says that the file will be added: `git add -N`."""
    return bool(getattr(entry, "extended_flags", 0) & _TO_ADD)


def _index_name(folder: Path, index: str | None) -> str:
    """The name of the index, or of what stands for it while `git commit` goes on.

    Source: git, builtin/commit.c, prepare_index.
    """
    if index is None:
        return "index"
    file = Path(index)
    is_own = os.path.realpath(file.parent) == os.path.realpath(folder)
    if not is_own or not _INDEX.fullmatch(file.name):
        raise Unreadable(f"{index} is no index of this repository (GIT_INDEX_FILE)")
    check_inside(folder, file.name)
    return file.name


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
    check_ref(folder, common, HEADREF)
    if (common / "reftable").exists():
        raise Unreadable("its references are a reftable, which is not read here")
    _check_own_objects(common / "objects")
    return folder, common


def _folders(project: Path) -> tuple[Path, Path]:
    git = project / ".git"
    try:
        kind = git.lstat().st_mode
    except OSError:
        raise NoRepository("the project is no git repository") from None
    if stat.S_ISDIR(kind):
        if os.path.lexists(git / "commondir"):
            raise Unreadable(f"{git} says that it belongs to another repository")
        return git, git
    if not stat.S_ISREG(kind):
        raise Unreadable(f"{git} is neither a folder nor a file")
    named = read_small(git).partition(b"\n")[0]
    folder = project / os.fsdecode(named.removeprefix(b"gitdir: ").strip())
    linked = find_linked(project)
    if linked is not None and linked.is_known:
        return folder, linked.main / ".git"
    worktree = _WORKTREE.search(read_small(folder / "config"))
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
    for folder in objects.glob("[0-9a-f][0-9a-f]"):
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink():
                    raise Unreadable(f"{entry.path} is a link, and no object")


def check_ref(folder: Path, common: Path, name: bytes) -> None:
    """Refuse a link on the way from a reference, which could lead elsewhere.

    Raises:
        Unreadable: there is one.
    """
    for _ in range(_MAX_REFS):
        is_own = is_per_worktree_ref(name)
        where, path = folder if is_own else common, os.fsdecode(name)
        check_inside(where, path)
        text = read_small(where / path)
        if not text.startswith(b"ref: "):
            return
        name = text.removeprefix(b"ref: ").strip()


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


def key_text(exc: KeyError) -> str:
    """The id of the object that is missing."""
    key = exc.args[0] if exc.args else b""
    return key.decode("ascii", "replace") if isinstance(key, bytes) else str(key)
