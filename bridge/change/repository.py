"""What git has of a project: commits, the index, and the texts of files."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import pygit2

from bridge.change.diffs import path_text
from bridge.change.git_folder import (
    Unreadable,
    check_inside,
    check_own,
    open_git,
    open_repository,
    own_folders,
)
from bridge.change.gitfile import is_named, shared_by
from bridge.change.index import FOLDER, Entry, Index, read_index
from bridge.change.stored import Attributes
from bridge.config import change_environment
from bridge.store.plain_file import open_plain

_MAX_DEPTH = 256
_INDEX_NAME = r"index(\.lock)?|next-index-\d+\.lock"
# No plain name in a path: these lead elsewhere, or into the repository itself.
_NOT_PLAIN = frozenset({b"", b".", b"..", b".git"})
# Packs are mapped in parts: a reader has little memory.
_WINDOW, _WINDOWS = 32 * 1024**2, 512 * 1024**2
_PARENT = re.compile(rb"^parent ([0-9a-f]{40})$", re.M)
# libgit2 fetches nothing in a partial clone; the others say where files lie.
_EXTENSIONS = ["partialclone", "worktreeconfig", "relativeworktrees"]


class Repository:
    """The repository of a project.

    The environment is to be of `config.git_environment`.

    Attributes:
        lib: libgit2's view of it.
        common: the git folder that all worktrees share.
        index_ns: when the index was written; 0 without an index.
        keeps_modes: whether modes on this disk count (`core.fileMode`).
        keeps_links: whether links on this disk are links (`core.symlinks`).
        is_sparse: whether it is a sparse checkout: files may be missing, and count
            where they are there.
    """

    def __init__(
        self, project: Path, index: str | None = None, git_dir: str | None = None
    ) -> None:
        """Look which repository it is; `index` is the file in place of its index.

        `git_dir` is the user's word for another git folder than the project's own.

        Raises:
            Unreadable: there is none, or it lies elsewhere, or `index` does.
        """
        self._project = project
        pygit2.settings.set_extensions(_EXTENSIONS)
        pygit2.settings.mwindow_size = _WINDOW
        pygit2.settings.mwindow_mapped_limit = _WINDOWS
        if git_dir is None or is_named(project, git_dir):
            self._folder, self.common = own_folders(project)
            self._place = project
        else:
            self._folder = self._place = Path(os.path.realpath(git_dir))
            self.common = shared_by(self._folder)
            check_own(self._folder, self.common)
        self.lib = self._opened()
        # Without the commit graph, a file that could give a commit other parents, and
        # without alternates.
        odb = pygit2.Odb()
        objects = str(self.common / "objects")
        odb.add_backend(pygit2.OdbBackendLoose(objects, -1, False), 2)  # noqa: FBT003
        odb.add_backend(pygit2.OdbBackendPack(objects), 1)
        self.lib.set_odb(odb)
        self._objects = odb
        self.keeps_modes = self.is_set("core.filemode", default=True)
        self.keeps_links = self.is_set("core.symlinks", default=True)
        self.is_sparse = self.is_set("core.sparsecheckout", default=False)
        self._index_file = self._folder / index_name(self._folder, index)
        has_index = self._index_file.exists()
        if index is not None and not has_index:
            raise Unreadable(f"{index} is gone: the commit that it was for has ended")
        self.index_ns = self._index_file.stat().st_mtime_ns if has_index else 0

    def _opened(self) -> pygit2.Repository:
        is_of_project = self._place != self._folder
        opened = open_repository if is_of_project else open_git
        repo = opened(self._place, with_env=True)
        try:
            repo.index  # noqa: B018 - reads it
        except pygit2.GitError:
            # Split, sparse or broken: libgit2 reads no attributes with such a one.
            nothing = {"GIT_INDEX_FILE": str(self._folder / "no-index")}
            before = change_environment(nothing)
            repo = opened(self._place, with_env=True)
            repo.index  # noqa: B018 - kept from now on
            change_environment(before)
        return repo

    def is_set(self, name: str, *, default: bool) -> bool:
        """What the configuration says, of the user, the machine and the repository."""
        config = self.lib.config
        return config.get_bool(name) if name in config else default

    @cached_property
    def head_id(self) -> str | None:
        """The last commit; None before the first."""
        return None if self.lib.head_is_unborn else str(self.lib.head.target)

    def identity(self) -> dict[str, str | None]:
        """The last commit, and the first before it, which all clones share.

        A shallow clone does not have that.
        """
        root = None
        if self.head_id is not None and not self.lib.is_shallow:
            walker = self.lib.walk(self.lib.head.target)
            walker.simplify_first_parent()
            for commit in walker:
                root = str(commit.id)
        return {"head": self.head_id, "root": root}

    @cached_property
    def head(self) -> Mapping[bytes, Entry]:
        """The files of the last commit by path; none before the first."""
        return {} if self.head_id is None else self.files_of(self.head_id)

    @cached_property
    def index(self) -> Index:
        """The index; empty if there is none."""
        if not self.index_ns:
            return Index({}, frozenset())
        index = read_index(
            self._index_file, lambda tree: self._files_in(pygit2.Oid(raw=tree), b"", 0)
        )
        check_plain(index.entries)
        return index

    def size_of(self, text_id: bytes) -> int | None:
        """How long the text of this id is; None if this clone lacks it."""
        try:
            return self._objects.read_header(pygit2.Oid(raw=text_id))[1]
        except KeyError:
            return None

    def text_of(self, text_id: bytes) -> bytes:
        """The text of this id, which this clone has."""
        return self._objects.read(pygit2.Oid(raw=text_id))[1]

    def files_of(self, commit_id: str) -> dict[bytes, Entry]:
        """The files of a commit, by path.

        Raises:
            Unreadable: this clone lacks some of it, or a path leads elsewhere.
        """
        tree = self.object(commit_id).peel(pygit2.Tree)
        files = self._files_in(tree.id, b"", 0)
        found = {path: Entry(mode, text_id) for path, mode, text_id in files}
        check_plain(found)
        return found

    def _files_in(
        self, tree_id: pygit2.Oid, prefix: bytes, depth: int
    ) -> Iterator[tuple[bytes, int, bytes]]:
        """Path, mode and id of all files below a tree."""
        if depth > _MAX_DEPTH:
            raise Unreadable(f"its folders are more than {_MAX_DEPTH} deep")
        for each in self.object(tree_id).peel(pygit2.Tree):
            path = prefix + (each.raw_name or b"")
            if each.filemode == FOLDER:
                yield from self._files_in(each.id, path + b"/", depth + 1)
            else:
                yield path, each.filemode, each.id.raw

    @cached_property
    def shallow(self) -> frozenset[str]:
        """The commits whose parents a shallow clone lacks."""
        # Git has one for all worktrees, libgit2 one for each.
        found = ""
        for place in {self.common, self._folder}:
            with (
                suppress(OSError),
                open_plain(place / "shallow", links=False) as opened,
            ):
                found += opened.read().decode("ascii", "replace").lower() + "\n"
        return frozenset(found.split())

    def cut(self) -> Iterator[str]:
        """Those of them of which this clone has a parent nevertheless."""
        for each in sorted(self.shallow):
            raw = pygit2.Oid(hex=each).raw
            text = self.text_of(raw) if self.size_of(raw) is not None else b""
            parents = _PARENT.findall(text.partition(b"\n\n")[0])
            if any(self.has(parent.decode()) for parent in parents):
                yield each

    def check_grafts(self) -> None:
        """Refuse a file that gives commits other parents: git and libgit2 obey it.

        Raises:
            Unreadable: there is one.
        """
        grafts = self.common / "info" / "grafts"
        if os.path.lexists(grafts):
            raise Unreadable(
                f"{grafts} gives commits other parents, which is not read",
                ways=("git replace --convert-graft-file",),
            )

    def has(self, object_id: str) -> bool:
        """Whether this clone has an object."""
        return pygit2.Oid(hex=object_id) in self.lib

    def object(self, object_id: str | pygit2.Oid) -> pygit2.Object:
        """What an id stands for; raises `Unreadable` if this clone lacks it."""
        try:
            return self.lib[object_id]
        except KeyError:
            raise Unreadable(f"this clone lacks the object {object_id}") from None

    @cached_property
    def attributes(self) -> Attributes:
        """The attributes of its files."""
        known = self.index.entries
        return Attributes(self.lib, self._project, lambda path: path in known)


def check_plain(paths: Iterable[bytes]) -> None:
    """Refuse paths that git itself never makes, and that lead out of the project.

    Raises:
        Unreadable: one does.
    """
    for path in paths:
        if not _NOT_PLAIN.isdisjoint(path.lower().split(b"/")) or b"\0" in path:
            raise Unreadable(f"it has a file {path_text(path)}, which is no plain path")


def index_name(folder: Path, index: str | None) -> str:
    """The name of the index, or of what stands for it during a `git commit`.

    Source: git, builtin/commit.c, prepare_index.
    """
    if index is None:
        return "index"
    file = Path(index)
    is_own = os.path.realpath(file.parent) == os.path.realpath(folder)
    if not is_own or not re.fullmatch(_INDEX_NAME, file.name):
        raise Unreadable(f"{index} is no index of this repository (GIT_INDEX_FILE)")
    check_inside(folder, file.name)
    return file.name
