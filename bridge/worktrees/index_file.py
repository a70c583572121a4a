"""The index of a work tree: read as a copy, changed, and put in place at once.

Entries that are changed here carry no file times: git reads those files once more at
its next look, and finds them as they should be.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.change.cache_tree import WAY_OUT
from bridge.change.index import BrokenIndex, bare_index
from bridge.worktrees.refused import WorktreeRefused

if TYPE_CHECKING:
    import pygit2

    from bridge.worktrees.repository import Git

LINK = 0o120000
SUBMODULE = 0o160000
_FILE = 0o100000
_EXECUTABLE = 0o111
# In the extended flags of an entry.
_TO_ADD, _LEFT_OUT = 0x2000, 0x4000


class Entry(NamedTuple):
    """A file as a tree or an index has it: the id of its text, and its mode."""

    id: str
    mode: int


class IndexCopy:
    """A copy of the index of a git folder, to be changed and then put in its place."""

    def __init__(
        self, git: Git, folder: Path, stage: Path, name: str = "index"
    ) -> None:
        """Copy the index of a git folder to `stage`; an absent one is empty.

        The trees that it keeps are left out: libgit2 would take them as they are.

        Raises:
            WorktreeRefused: it is no index.
        """
        self._git = git
        self._path = stage / "index"
        self._forged: tuple[bytes, ...] = ()
        self._since_s = 0
        if (folder / name).exists():
            self._since_s = int((folder / name).stat().st_mtime)
            try:
                data, self._forged = bare_index(folder / name)
            except BrokenIndex as exc:
                raise WorktreeRefused(str(exc)) from None
            self._path.write_bytes(data)
        self._index: pygit2.Index = git.lib.Index(str(self._path))
        self._index.read()

    def __getitem__(self, path: str) -> Entry | None:
        try:
            found = self._index[path]
        except KeyError:
            return None
        return Entry(str(found.id), int(found.mode))

    @property
    def conflicts(self) -> tuple[str, ...]:
        """The files of a merge that is not resolved."""
        return conflicts_of(self._index)

    def check_trees(self) -> None:
        """Refuse an index of which git would commit something else than its files.

        Raises:
            WorktreeRefused: it is one.
        """
        if self._forged:
            folders = ", ".join(os.fsdecode(each or b".") for each in self._forged[:10])
            raise WorktreeRefused(
                f"the index names another tree of {folders!r} than its files make, and "
                "git would commit that",
                ways=(WAY_OUT,),
            )

    def paths(self) -> list[str]:
        """The paths of its files, in its order."""
        return [entry.path for entry in self._index]

    def drop_promised(self) -> None:
        """Leave out what it only says will be added, by `git add -N`."""
        from pygit2.ffi import ffi

        promised = [
            os.fsdecode(ffi.string(each.path))
            for each in _entries(self._index)
            if each.flags_extended & _TO_ADD
        ]
        for path in promised:
            self._index.remove(path)

    def put_all(self, entries: Mapping[str, Entry | None]) -> None:
        """Set the entries of files; None removes one.

        Raises:
            WorktreeRefused: one would take the place of another that is to stay:
                libgit2 drops what is above or below a path.
        """
        for path, entry in entries.items():
            if entry is None and self[path] is not None:
                self._index.remove(path)
        for path, entry in entries.items():
            if entry is not None:
                self._put(path, entry)

    def _put(self, path: str, entry: Entry) -> None:
        lib, most = self._git.lib, len(self._index) + (self[path] is None)
        mode = lib.enums.FileMode(entry.mode)
        self._index.add(lib.IndexEntry(path, lib.Oid(hex=entry.id), mode))
        if len(self._index) < most:
            raise WorktreeRefused(
                f"{self._git.project}: {path!r} would take the place of what git knows "
                "as a file or a submodule above or below it",
                ways=("look at it with git status", "move one of them away"),
            )

    def fill(self, tree: pygit2.Tree) -> None:
        """Make it hold a tree, and nothing else."""
        self._index.read_tree(tree)

    def write_tree(self) -> pygit2.Tree:
        """What it holds, as a tree in the repository."""
        made = self._index.write_tree(self._git.repo)
        tree: pygit2.Tree = self._git.repo[made].peel(self._git.lib.Tree)
        return tree

    def data(self) -> bytes:
        """Its bytes, as git keeps them."""
        self._let_git_look_again()
        self._index.write()
        return self._path.read_bytes()

    def _let_git_look_again(self) -> None:
        """Drop the sizes of files that were as new as the index when it was read.

        They may have been written once more in the same moment. Git tells that by their
        times as long as the index is no newer; the one that replaces it is. Git does
        the same. Source: git, Documentation/technical/racy-git.
        """
        for entry in _entries(self._index):
            if entry.mtime.seconds >= self._since_s:
                entry.file_size = 0


def _entries(index: pygit2.Index) -> Iterator[Any]:
    """The entries with all that libgit2 knows of them; pygit2 itself shows a part."""
    from pygit2.ffi import C

    for place in range(len(index)):
        yield C.git_index_get_byindex(index._index, place)  # noqa: SLF001 - it has no other


def conflicts_of(index: pygit2.Index) -> tuple[str, ...]:
    """The files in an index that are in conflict, sorted."""
    sides = index.conflicts or ()
    return tuple(sorted({one.path for three in sides for one in three if one}))


def is_left_out(index: pygit2.Index, path: str) -> bool:
    """Whether a file need not lie in the work tree, as in a sparse checkout."""
    from pygit2.ffi import C, ffi

    place = ffi.new("char[]", os.fsencode(path))
    entry = C.git_index_get_bypath(index._index, place, 0)  # noqa: SLF001 - as above
    return entry != ffi.NULL and bool(entry.flags_extended & _LEFT_OUT)


def mode_of(is_link: bool, permissions: int) -> int:  # noqa: FBT001 - read by position
    """The mode that git gives a file with these permissions."""
    if is_link:
        return LINK
    return _FILE | (0o755 if permissions & _EXECUTABLE else 0o644)
