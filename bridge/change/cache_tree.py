"""The trees that an index keeps beside its entries, for the next commit (`TREE`).

`git commit` takes them as they are: it does not look whether the entries make the same.
An index can therefore have something else committed than its entries.

Source: gitformat-index(5), "Cache tree"; git, cache-tree.c, update_one.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from hashlib import sha1
from typing import NamedTuple

# It adds every entry anew, and with that forgets the trees.
WAY_OUT = "git ls-files -s | git update-index --index-info"
_FOLDER = 0o040000
_ID = 20
_NODE = re.compile(rb"([^\0]*)\0(-1|\d+) (\d+)\n")


class KeptTree(NamedTuple):
    """A folder as a tree: of how many entries of the index, and its id."""

    entries: int
    id: bytes


def kept_trees(data: bytes) -> list[tuple[bytes, KeptTree]]:
    """The folders of the extension whose trees git would take, by path.

    Raises:
        ValueError: it is not as git writes it.
    """
    found = []
    at = 0
    # Of each folder that is not finished: its path, and how many are still to come.
    open_: list[tuple[bytes, int]] = [(b"", 1)]
    while open_:
        above, left = open_.pop()
        if not left:
            continue
        open_.append((above, left - 1))
        node = _NODE.match(data, at)
        if node is None:
            raise ValueError("its trees are not as git writes them")
        name, count, below = node[1], int(node[2]), int(node[3])
        at = node.end()
        path = b"/".join(filter(None, (above, name)))
        if count >= 0:
            found.append((path, KeptTree(count, data[at : at + _ID])))
            at += _ID
        open_.append((path, below))
    return found


def forged(
    trees: Iterable[tuple[bytes, KeptTree]], entries: Iterable[tuple[bytes, int, bytes]]
) -> tuple[bytes, ...]:
    """The folders of which a tree is kept that their entries do not make.

    `entries`: path, mode and id of each. Trees of folders without any do not count: git
    drops them.
    """
    kept = list(trees)
    if not kept:
        return ()
    real = _made_of(entries)
    return tuple(path for path, tree in kept if real.get(path, tree) != tree)


def _made_of(entries: Iterable[tuple[bytes, int, bytes]]) -> dict[bytes, KeptTree]:
    """The trees that entries make, by the path of the folder; the root's is empty."""
    # Folder -> for each file in it, the sort key and the line of the tree.
    lines: defaultdict[bytes, list[tuple[bytes, bytes]]] = defaultdict(list)
    counts = Counter({b"": 0})

    def add(path: bytes, mode: int, object_id: bytes, count: int) -> None:
        above, _, name = path.rpartition(b"/")
        order = name + b"/" if mode == _FOLDER else name
        lines[above].append((order, b"%o %b\0%b" % (mode, name, object_id)))
        while above not in counts:
            counts[above] = 0
            above = above.rpartition(b"/")[0]
        above = path.rpartition(b"/")[0]
        counts[above] += count

    made = {}
    for path, mode, object_id in entries:
        add(path.removesuffix(b"/"), mode, object_id, 1)
        if mode == _FOLDER:
            made[path.removesuffix(b"/")] = KeptTree(1, object_id)
    # The root is the least of all: its path is empty.
    for folder in sorted(
        counts, key=lambda path: (path.count(b"/"), path), reverse=True
    ):
        body = b"".join(line for _, line in sorted(lines[folder]))
        whole = b"tree %d\0" % len(body) + body
        tree_id = sha1(whole, usedforsecurity=False).digest()
        made[folder] = KeptTree(counts[folder], tree_id)
        if folder:
            add(folder, _FOLDER, tree_id, counts[folder])
    return made
