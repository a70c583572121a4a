"""The index of git as it lies on disk: versions 2 to 4, also split or sparse.

libgit2 reads neither a split nor a sparse one, and pygit2 does not say which entries
are to be checked out.

Source: gitformat-index(5).
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Callable, Iterator
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

from bridge.change.cache_tree import KeptTree, forged, kept_trees
from bridge.store.plain_file import open_plain

FOLDER = 0o040000
_HEAD = struct.Struct(">4sII")
_ENTRY = struct.Struct(">10I20sH")
_ID = 20
_ASSUMED, _LONG, _STAGE = 0x8000, 0x4000, 0x3000
_ABSENT, _TO_ADD = 0x4000, 0x2000
_ALIGNED = 8
_V3, _V4 = 3, 4
# Extensions that are no mere caches begin with a small letter.
_SPLIT, _SPARSE = b"link", b"sdir"
_TREES, _STARTS, _END = b"TREE", b"IEOT", b"EOIE"
# The last of them, at the end: its name, its size, a place, a checksum.
_END_SIZE = 8 + 4 + _ID
_WORD = 64
_OURS = 2
_U32 = 0xFFFFFFFF

FilesOf = Callable[[bytes], Iterator[tuple[bytes, int, bytes]]]


class BrokenIndex(ValueError):
    """The file is not an index, is damaged, or of a kind that is not known."""


class Entry(NamedTuple):
    """A file in a commit or in the index: its mode, and the raw id of its text.

    Attributes:
        facts: its times of change and of writing (s, ns each), inode and size when it
            last had this text; all 0 if that is not known.
        is_kept: whether it need not lie in the project: of a sparse checkout, or by
            `update-index --skip-worktree`.
        is_assumed: whether git looks at it no more: `update-index --assume-unchanged`.
        is_to_be_added: whether it is only a promise: `git add -N`.
    """

    mode: int
    id: bytes
    facts: tuple[int, ...] = (0,) * 6
    is_kept: bool = False
    is_assumed: bool = False
    is_to_be_added: bool = False

    def is_same_file(self, facts: os.stat_result) -> bool:
        """Whether a file on the disk is the one that was looked at."""
        return self.facts[4] == facts.st_ino & _U32

    def has_facts(self, facts: os.stat_result, before_ns: int) -> bool:
        """Whether a file was not written since; then it need not be read.

        Anybody can set the time of writing back; not that of change. A file as old as
        the index, written at `before_ns`, may have been written again since.
        """
        return (
            self.facts
            == (
                *divmod(facts.st_ctime_ns, 10**9),
                *divmod(facts.st_mtime_ns, 10**9),
                facts.st_ino & _U32,
                facts.st_size & _U32,
            )
            and stat.S_IFMT(self.mode) == stat.S_IFMT(facts.st_mode)
            and max(facts.st_mtime_ns, facts.st_ctime_ns) < before_ns
        )


_Items = dict[tuple[bytes, int], Entry]


class Index(NamedTuple):
    """What an index has.

    Attributes:
        entries: by path; of a conflict, our side.
        unmerged: the paths that a merge has left open.
        forged: the folders of which the next commit would not have the entries, but
            another tree that the index names; the root's path is empty.
    """

    entries: dict[bytes, Entry]
    unmerged: frozenset[bytes]
    forged: tuple[bytes, ...] = ()


def read_index(file: Path, files_of: FilesOf) -> Index:
    """The index in a file; `files_of` has the files below a folder of a sparse one.

    Raises:
        BrokenIndex: it is cut, or no index, or of a kind that is not known.
        OSError: it cannot be read.
    """
    _, items, forged_folders = _load(file)
    entries: dict[bytes, Entry] = {}
    unmerged = set()
    for (path, stage), entry in items.items():
        if entry.mode == FOLDER:
            for below, mode, text_id in files_of(entry.id):
                entries[path + below] = Entry(mode, text_id, is_kept=True)
        elif not stage:
            entries[path] = entry
        else:
            unmerged.add(path)
            if stage == _OURS:
                entries[path] = entry
    return Index(entries, frozenset(unmerged), forged_folders)


def bare_index(file: Path) -> tuple[bytes, tuple[bytes, ...]]:
    """The bytes of an index without the trees that it keeps; which are forged.

    Raises:
        BrokenIndex, OSError: as `read_index`.
    """
    staged, _, forged_folders = _load(file)
    digest = sha1(staged.bare, usedforsecurity=False).digest()
    return staged.bare + digest, forged_folders


def _load(file: Path) -> tuple[_Staged, _Items, tuple[bytes, ...]]:
    """The file, all entries with those of a shared index, and which are forged."""
    try:
        staged = _Staged(file)
        items = staged.merged()
    except (struct.error, IndexError, ValueError) as exc:
        raise BrokenIndex(f"{file} is damaged: {exc}") from None
    made_of = ((path, each.mode, each.id) for (path, _), each in items.items())
    return staged, items, forged(staged.trees, made_of)


class _Staged:
    """The index in one file.

    Attributes:
        entries: in order.
        link: what it says of the index that it shares.
        trees: the folders that it keeps as trees.
        bare: its bytes without those trees, without where its parts lie, and without
            the checksum.
    """

    def __init__(self, file: Path) -> None:
        """Read it.

        Raises:
            struct.error, IndexError, ValueError: it is damaged.
            OSError: it cannot be read.
        """
        with open_plain(file, links=False) as opened:
            data = opened.read()
        self._file, self._data, end = file, data, len(data) - _ID
        kind, self._version, count = _HEAD.unpack_from(data)
        if kind != b"DIRC" or self._version not in (2, _V3, _V4):
            raise ValueError("it is no index of versions 2 to 4")
        # Zeros: `index.skipHash`.
        known = sha1(data[:end], usedforsecurity=False).digest()
        if data[end:] not in (known, bytes(_ID)):
            raise ValueError("its checksum is another")
        self.entries: list[tuple[tuple[bytes, int], Entry]] = []
        at, name, starts = _HEAD.size, b"", []
        for _ in range(count):
            starts.append(at)
            at, name = self._read(at, name)
        self.link = b""
        self.trees: list[tuple[bytes, KeptTree]] = []
        self.bare = data[:at]
        _check_end(data[max(end - _END_SIZE, 0) : end], at)
        while at < end:
            kind, size = struct.unpack_from(">4sI", data, at)
            extension = data[at + 8 : at + 8 + size]
            if kind == _SPLIT:
                self.link = extension
            elif kind == _TREES:
                self.trees += kept_trees(extension)
            elif kind == _STARTS:
                _check_starts(extension, starts)
            elif kind[:1].islower() and kind != _SPARSE:
                raise ValueError(f"its extension {kind!r} is not known")
            if kind not in (_TREES, _STARTS, _END):
                self.bare += data[at : at + 8 + size]
            at += 8 + size

    def _read(self, start: int, before: bytes) -> tuple[int, bytes]:
        """Read the entry at `start`, behind that of the path `before`."""
        values = _ENTRY.unpack_from(self._data, start)
        text_id, flags = values[10:]
        at, more = start + _ENTRY.size, 0
        if self._version >= _V3 and flags & _LONG:
            (more,) = struct.unpack_from(">H", self._data, at)
            at += 2
        if self._version == _V4:
            at, cut = self._number(at)
            before = before[: len(before) - cut]
        end = self._data.index(b"\0", at)
        name = self._data[at:end]
        if self._version == _V4:
            name, end = before + name, end + 1
        else:
            end += _ALIGNED - (end - start) % _ALIGNED
        entry = Entry(
            values[6],
            text_id,
            (*values[0:4], values[5], values[9]),
            is_kept=bool(more & _ABSENT),
            is_assumed=bool(flags & _ASSUMED),
            is_to_be_added=bool(more & _TO_ADD),
        )
        self.entries.append(((name, (flags & _STAGE) >> 12), entry))
        return end, name

    def _number(self, at: int) -> tuple[int, int]:
        byte = self._data[at]
        value = byte & 0x7F
        while byte & 0x80:
            at += 1
            byte = self._data[at]
            value = ((value + 1) << 7) | (byte & 0x7F)
        return at + 1, value

    def merged(self) -> _Items:
        """Its entries, together with those of the index that it shares.

        Raises as reading does.
        """
        shared, maps = self.link[:_ID], self.link[_ID:]
        if not any(shared):
            return dict(self.entries)
        base = _Staged(self._file.with_name(f"sharedindex.{shared.hex()}")).entries
        rest = iter(self.entries)
        gone, at = _bits(maps, 0) if maps else (set(), 0)
        replaced = _bits(maps, at)[0] if maps else set()
        found = {
            key: next(rest)[1] if number in replaced else entry
            for number, (key, entry) in enumerate(base)
            if number not in gone
        }
        return {**found, **dict(rest)}


def _check_end(last: bytes, entries_end: int) -> None:
    """Refuse an index that sends git elsewhere for what comes behind its entries.

    Source: git, read-cache.c, read_eoie_extension.
    """
    if last.startswith(_END) and last[8:12] != struct.pack(">I", entries_end):
        raise ValueError("its entries end elsewhere")


def _check_starts(extension: bytes, starts: list[int]) -> None:
    """Refuse an index that sends the threads of git elsewhere for its entries.

    Source: git, read-cache.c, read_ieot_extension.
    """
    number = 0
    for start, count in struct.iter_unpack(">II", extension[4:]):
        if starts[number] != start:
            break
        number += count
    if number != len(starts):
        raise ValueError("its entries lie elsewhere")


def _bits(data: bytes, at: int) -> tuple[set[int], int]:
    """The numbers of the bits that a compressed map at `at` has, and where it ends.

    Source: gitformat-bitmap(5), "Appendix A: Serialization format for an EWAH bitmap".
    """
    size, count = struct.unpack_from(">II", data, at)
    words = struct.unpack_from(f">{count}Q", data, at + 8)
    found: set[int] = set()
    place, position = 0, 0
    while position < count:
        run = words[position]
        length, literals = (run >> 1) & _U32, run >> 33
        if run & 1:
            found.update(range(place, min(size, place + length * _WORD)))
        place += length * _WORD
        position += 1
        for word in words[position : position + literals]:
            found.update(place + bit for bit in range(_WORD) if word >> bit & 1)
            place += _WORD
        position += literals
    return found, at + 8 + 8 * count + 4
