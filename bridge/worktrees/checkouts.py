"""A checkout of what is staged, for agents to look at and to run commands in.

It is a worktree of the project in the state directory, with an index of its own and,
once there is a commit, no branch: git and our hooks see an ordinary worktree, and what
is done in it touches neither the project's files nor its index, HEAD or references. Its
record says until when anybody may be at work in it. After that, or once its run has
ended, `sweep` removes it.

Files are written as git writes them, with links, modes and line ends; by a filter (Git
LFS) nothing is, and no `$Id$`: such a file has the text that the repository keeps.
Submodules are empty folders. What git does not know, or ignores, is not there.

All of it is done by a process of its own (`own_process`), which has a deadline.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.change.diffs import path_text
from bridge.change.git_folder import Unreadable
from bridge.change.repository import index_name
from bridge.errors import BridgeError
from bridge.store.live_runs import is_marked
from bridge.worktrees.attributes import treated, write_idents
from bridge.worktrees.creation import linked_entry, refuse_place
from bridge.worktrees.index_file import IndexCopy
from bridge.worktrees.own_process import in_own_process
from bridge.worktrees.refused import NoRepository, WorktreeRefused
from bridge.worktrees.removal import remove_all, remove_tree
from bridge.worktrees.repository import Git, bounded, open_tree, opened
from bridge.worktrees.work_tree import parts_of
from bridge.worktrees.worktree import Worktree, find, forget, records, write

if TYPE_CHECKING:
    from bridge.store.store import Store

# For each that is swept: somebody waits for what comes after it.
_SWEEP_S = 30.0


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout that was made.

    Attributes:
        folder: where its files are.
        holds: what it was made of, as the digest of `state_of`.
        filtered: the files that git would have written by a filter, or with an `$Id$`.
    """

    folder: Path
    holds: str
    filtered: tuple[str, ...]


# For those who want one


def check_out(
    project: Path,
    folder: Path,
    *,
    index: str | None,
    until_ms: int,
    **bounds: Any,
) -> Checkout:
    """Make a checkout of the index of `project`, or of the file in place of it.

    What lies in `folder` of an earlier one is removed first. `bounds` are those of
    `in_own_process`.

    Raises:
        WorktreeRefused: it cannot be made, or takes too long; what is left of it then
            is swept.
        Stopped: it was to stop; so, too.
    """
    given = {"folder": str(folder), "index": index, "until_ms": until_ms}
    made = in_own_process(make, project=str(project), **(given | bounds))
    return Checkout(folder, made["holds"], tuple(made["filtered"]))


def state_of(project: Path, *, index: str | None, **bounds: Any) -> str:
    """A digest of what is staged, and of the commit that it is staged on.

    Raises:
        WorktreeRefused: it cannot be read.
        Stopped: it was to stop.
    """
    done = in_own_process(look, project=str(project), index=index, **bounds)
    return str(done["holds"])


def drop(folder: Path, **bounds: Any) -> None:
    """Remove a checkout; again, it does nothing.

    Raises:
        WorktreeRefused: it cannot be removed, or is no checkout.
        Stopped: it was to stop.
    """
    in_own_process(remove, folder=str(folder), **bounds)


def left_behind(store: Store) -> list[Worktree]:
    """The checkouts that nobody needs: their run has ended, or their time is over."""
    now_ms = store.now_ms()
    found = []
    for record in records(store.place.state):
        with suppress(BridgeError), store.state(make=False) as state:
            known = find(record.with_suffix(""))
            if known is not None and known.until_ms:
                is_over = now_ms > known.until_ms
                if is_over or not is_marked(state, known.folder.parent.name):
                    found.append(known)
    return found


def sweep(store: Store) -> int:
    """Remove the checkouts that nobody needs; how many. One that stays is for later."""
    gone = 0
    for each in left_behind(store):
        with suppress(WorktreeRefused):
            drop(each.folder, limit_s=_SWEEP_S)
            gone += 1
    return gone


# In the process


def make(
    *, project: str, folder: str, index: str | None, until_ms: int
) -> dict[str, Any]:
    """As `check_out`; returns what its caller needs to know."""
    return _make(Path(project), Path(folder), index, until_ms)


@bounded
def _make(
    project: Path, folder: Path, index: str | None, until_ms: int
) -> dict[str, Any]:
    place = Path(os.path.realpath(folder.parent)) / folder.name
    with opened(project) as git:
        if (earlier := _earlier(place)) is not None:
            remove_all(git, earlier)
        refuse_place(git, place)
        head = _head(git)
        # Before the first commit, on a branch of its own that nobody has made.
        branch = "" if head else _branch_of(place)
        made = Worktree(git.project, place, branch, "", head, "making", until_ms)
        write(made)
        try:
            holds, filtered = _write_files(git, made, index)
        except BaseException:
            remove_all(git, made)
            raise
        write(made.at("made"))
    return {"holds": holds, "filtered": filtered}


def look(*, project: str, index: str | None) -> dict[str, Any]:
    """As `state_of`."""
    return _look(Path(project), index)


@bounded
def _look(project: Path, index: str | None) -> dict[str, Any]:
    with opened(project) as git:
        return {"holds": _digest(git, _copy_of(git, index))}


def remove(*, folder: str) -> dict[str, Any]:
    """As `drop`."""
    place = Path(folder)
    known = _earlier(place)
    if known is not None:
        try:
            _remove(known)
        except NoRepository:
            # The project is gone, and what it knew of this with it.
            remove_tree(place)
            forget(place)
    return {}


def _earlier(place: Path) -> Worktree | None:
    """The checkout that lies there; None for nothing, and for a worktree.

    Raises:
        WorktreeRefused: its record names a branch that is not its own.
    """
    known = find(place)
    if known is None or not known.until_ms:
        return None
    if known.branch not in ("", _branch_of(place)):
        raise WorktreeRefused(
            f"{place}.json is not as hostbridge has written it",
            ways=("look at the checkout, and remove it with git",),
        )
    return known


@bounded
def _remove(checkout: Worktree) -> None:
    with opened(checkout.project) as git:
        remove_all(git, checkout)


def _branch_of(folder: Path) -> str:
    return f"hostbridge/{folder.parent.name}/{folder.name}"


def _head(git: Git) -> str:
    return "" if git.repo.head_is_unborn else str(git.repo.head.target)


def _copy_of(git: Git, index: str | None) -> IndexCopy:
    """A copy of the index, or of what stands for it; without what no commit has.

    Raises:
        WorktreeRefused: it is no index of this repository, or is gone.
    """
    try:
        name = index_name(git.folder, index)
    except Unreadable as exc:
        raise WorktreeRefused(str(exc)) from None
    if index is not None and not (git.folder / name).exists():
        raise WorktreeRefused(f"{index} is gone: the commit that it was for has ended")
    copy = IndexCopy(git, git.folder, git.locks.stage(), name)
    copy.check_trees()
    copy.drop_promised()
    return copy


def _write_files(
    git: Git, checkout: Worktree, index: str | None
) -> tuple[str, list[str]]:
    folder = checkout.folder
    copy = _copy_of(git, index)
    if copy.conflicts:
        raise WorktreeRefused("a merge is not resolved: git would not commit this")
    paths = _checked(copy)
    holds, data = _digest(git, copy), copy.data()
    folder.mkdir(mode=0o700)
    entry = linked_entry(git, checkout)
    # Not through a link that somebody has put there.
    (entry / "index").unlink(missing_ok=True)
    (entry / "index").write_bytes(data)
    tree = open_tree(folder)
    how = git.lib.enums.CheckoutStrategy
    tree.checkout_index(  # type: ignore[no-untyped-call] # pygit2 leaves it so
        strategy=how.FORCE | how.RECREATE_MISSING
    )
    raw = {*treated(tree, paths), *write_idents(tree, folder)}
    return holds, [path_text(os.fsencode(path)) for path in paths if path in raw]


def _checked(copy: IndexCopy) -> list[str]:
    """The paths of an index, which anybody may have written.

    Raises:
        WorktreeRefused: one leads out of the checkout, or through a file.
    """
    paths = copy.paths()
    known = {*paths}
    for path in paths:
        *above, _ = parts_of(path)
        if any("/".join(above[:end]) in known for end in range(1, len(above) + 1)):
            raise WorktreeRefused(f"{path!r} is below a file, and cannot be one")
    return paths


def _digest(git: Git, copy: IndexCopy) -> str:
    digest = hashlib.sha256(_head(git).encode())
    for path in copy.paths():
        entry = copy[path]
        digest.update(f"\0{entry}\0".encode() + os.fsencode(path))
    return digest.hexdigest()
