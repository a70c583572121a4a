"""An index as nobody but an attacker writes it: its checksum is right."""

from __future__ import annotations

import struct
from hashlib import sha1
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from gitworld import Repository

_ID = 20
CURE = "git ls-files -s | git update-index --index-info"


def forge_tree(repo: Repository, index: Path) -> None:
    """Have `index` name a tree with another `folder/b` than its entry has."""
    data = index.read_bytes()[:-_ID]
    at = data.index(b"TREE") + 8
    node = data.index(b"folder\0", at)
    at = data.index(b"\n", node) + 1
    write(index, data[:at] + bytes.fromhex(evil_tree(repo)) + data[at + _ID :])


def forge_count(index: Path) -> None:
    """Have `index` say that `folder` has an entry more: the next one, then, is lost."""
    data = index.read_bytes()[:-_ID]
    write(index, data.replace(b"folder\x001 0\n", b"folder\x002 0\n"))


def forge_end(repo: Repository, index: Path) -> None:
    """Have `index` hide such a tree from all who do not read its last extension."""
    data = index.read_bytes()[:-_ID]
    start = data.index(b"TREE")
    body = b"\0-1 1\nfolder\x001 0\n" + bytes.fromhex(evil_tree(repo))
    tree = _extension(b"TREE", body)
    names = b"TREE" + struct.pack(">I", len(body))
    hidden = _extension(b"HIDE", tree)
    place = struct.pack(">I", start + 8)
    end = _extension(b"EOIE", place + sha1(names, usedforsecurity=False).digest())
    write(index, data[:start] + hidden + end)


def forge_starts(repo: Repository, index: Path) -> None:
    """Have `index` hide other entries from all who read them one by one."""
    data = index.read_bytes()[:-_ID]
    start = data.index(b"TREE")
    (count,) = struct.unpack_from(">I", data, 8)
    old = bytes.fromhex(repo.git("rev-parse", ":folder/b").strip())
    hidden = _extension(b"HIDE", data[12:start].replace(old, evil_text(repo)))
    blocks = struct.pack(">III", 1, start + 8, 1)
    size = 62 + len(repo.git("ls-files").split()[0])
    blocks += struct.pack(">II", start + 8 + size + 8 - size % 8, count - 1)
    starts = _extension(b"IEOT", blocks)
    names = b"".join(
        name + struct.pack(">I", size)
        for name, size in ((b"HIDE", len(hidden) - 8), (b"IEOT", len(blocks)))
    )
    place = struct.pack(">I", start)
    end = _extension(b"EOIE", place + sha1(names, usedforsecurity=False).digest())
    write(index, data[:start] + hidden + starts + end)


def evil_text(repo: Repository) -> bytes:
    """The id of a text that is nowhere but among the objects."""
    place = repo.folder / ".git" / "evil"
    place.write_text("evil\n")
    return bytes.fromhex(repo.git("hash-object", "-w", str(place)).strip())


def evil_tree(repo: Repository) -> str:
    """The id of a folder with such a text as its `b`."""
    place = repo.folder / ".git" / "evil-tree"
    whole = b"100644 b\0" + evil_text(repo)
    place.write_bytes(whole)
    words = ("hash-object", "-w", "-t", "tree", str(place))
    return repo.git(*words).strip()


def write(index: Path, data: bytes) -> None:
    """Write an index with its checksum."""
    index.write_bytes(data + sha1(data, usedforsecurity=False).digest())


def _extension(name: bytes, body: bytes) -> bytes:
    return name + struct.pack(">I", len(body)) + body
