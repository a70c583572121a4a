"""What a lock says of an answer, and what of that is another by now.

A lock is for clones: what no clone has cannot be in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from bridge.freshness.checkout import Checkout
from bridge.freshness.disk import ABSENT, PROGRAM
from bridge.freshness.lock_file import Item, LockedAnswer
from bridge.freshness.looks import left_out
from bridge.freshness.memory_files import is_of_client
from bridge.freshness.reads import Difference, Reads, Tree
from bridge.policy.made_folders import GIT, LEFT_OUT

_MAX_LINKS = 40


class Cannot(Exception):
    """An answer cannot be locked; `str()` says why."""


def items_of(reads: Reads, checkout: Checkout) -> Iterator[Item]:
    """What a lock says of an answer, which is fresh.

    Raises:
        Cannot: it rests on something that a clone lacks.
    """
    for path, entry in reads.files.items():
        if not _is_left_out(path, checkout, is_there=entry.kind != ABSENT):
            links, inside = _followed(path, checkout)
            yield from (*links, file_item(inside, checkout))
    for tree in reads.trees:
        if not _is_left_out(tree.root, checkout, is_there=bool(tree.entries)):
            links, inside = _followed(tree.root, checkout)
            yield from (*links, *_tree_items(inside, tree, checkout))


def file_item(path: str, checkout: Checkout) -> Item:
    """What a lock says of one file.

    Raises:
        Cannot: a clone lacks it, or it is no plain file.
    """
    kind, digest = checkout.state_of(path)
    if kind in ("folder", "other"):
        raise Cannot(f"it rests on {path}, which is no plain file")
    if kind != "absent" and not checkout.has(path):
        raise Cannot(_not_known(path))
    return Item(kind, path, digest)


def _tree_items(root: str, tree: Tree, checkout: Checkout) -> Iterator[Item]:
    is_all = tree.kind == "everything"
    if checkout.state_of(root)[0] == "file":
        yield file_item(root, checkout)
        return
    prefix = "" if root == "." else f"{root}/"
    if named := sorted(LEFT_OUT - left_out(tree.patterns)):
        raise Cannot(_not_known(prefix + named[0]))
    for name, entry in tree.entries.items():
        path = prefix + name.removesuffix(PROGRAM)
        is_folder = entry is not None and entry.kind == "folder"
        if not is_folder and checkout.lacks(path):
            raise Cannot(_not_known(path))
    kind, patterns = "tree" if is_all else "names", tree.patterns
    digest = checkout.list_digest(root, patterns, is_all=is_all)
    yield Item(kind, root, digest, patterns)
    if tree.kind != "names":
        for name in checkout.names(root, patterns, is_all=is_all):
            yield file_item(prefix + name.removesuffix(PROGRAM), checkout)


def _not_known(path: str) -> str:
    return f"it rests on {path}, which git does not know: a clone lacks it"


def _is_left_out(path: str, checkout: Checkout, *, is_there: bool) -> bool:
    """Whether a lock leaves it out.

    That is git's own folder (the lock is itself part of a commit), the user's own
    files, and files of the client, or rules, that do not exist.
    """
    if any(_is_below(path, each) for each in checkout.git_folders):
        return True
    if _is_below(path, str(checkout.root)):
        return False
    is_yours = any(_is_below(path, each) for each in checkout.yours)
    is_optional = is_of_client(path) or ".bridge" in path.split("/")
    return is_yours or (is_optional and not is_there)


def _followed(path: str, checkout: Checkout) -> tuple[list[Item], str]:
    """The links at a path, and where they lead, relative to the project.

    Raises:
        Cannot: they lead out of the project, or the path leads through another one.
    """
    links: list[Item] = []
    while len(links) < _MAX_LINKS:
        if not _is_below(path, str(checkout.root)):
            raise Cannot(f"it rests on {path}, which is not in the project")
        inside = os.path.relpath(path, checkout.root)
        above = os.path.dirname(path)
        if GIT in inside.lower().split("/"):
            raise Cannot(_not_known(inside))
        if inside != "." and os.path.realpath(above) != above:
            raise Cannot(f"it rests on {inside}, which is behind a link to a folder")
        if checkout.state_of(inside)[0] != "link":
            return links, inside
        links.append(file_item(inside, checkout))
        path = os.path.normpath(os.path.join(above, os.readlink(path)))
    raise Cannot(f"it rests on {path}, which is behind too many links")


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def differences_of(answer: LockedAnswer, checkout: Checkout) -> Iterator[Difference]:
    """How the files differ from what a lock says of an answer."""
    for item in answer.items:
        if item.kind in ("names", "tree"):
            is_all = item.kind == "tree"
            digest = checkout.list_digest(item.path, item.patterns, is_all=is_all)
            if digest != item.digest:
                what = " ".join([item.path, *item.patterns])
                yield Difference("names", what)
            continue
        kind, digest = checkout.state_of(item.path)
        if kind == item.kind and digest == item.digest:
            continue
        found = {item.kind: "added", kind: "removed"}
        yield Difference(found.get("absent", "changed"), item.path)
