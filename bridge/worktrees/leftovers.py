"""Worktrees of runs that have ended: which there are, and what becomes of them.

A run that has failed may go on in its worktrees (`runs resume`), so they stay with it;
once it is cancelled or pruned nobody needs them. What is not committed or not merged is
never removed here, and neither is a worktree that somebody works in.
"""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import BridgeError, StateRefused
from bridge.protocol import plain_json
from bridge.protocol.wording import in_shell
from bridge.store.live_runs import FILE, RUNS, is_marked
from bridge.worktrees.worktree import find, records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.store.state import State
    from bridge.store.store import Store


class Leftover(NamedTuple):
    """A worktree of a run that has ended.

    Attributes:
        run: its run; `status` is how that ended, empty if it is no longer on record.
        folder: where its files are.
        branch: its branch.
        holds: what it has that is in no other branch, or why it could not be removed;
            empty if nobody has looked, or it has nothing.
    """

    run: str
    status: str
    folder: str
    branch: str
    holds: str = ""

    @property
    def is_needed(self) -> bool:
        """Whether its run is there, and may go on in it."""
        return self.status not in ("", "cancelled")

    @property
    def ways(self) -> tuple[str, ...]:
        """What a person can do about it."""
        if not self.holds and not self.is_needed:
            return ("hostbridge prune",)
        if not self.holds and self.status == "failed":
            return (f"hostbridge runs cancel {self.run}",)
        if not self.holds:
            remove = in_shell("git", "worktree", "remove", self.folder)
            return (f"{remove} && {in_shell('git', 'branch', '-d', self.branch)}",)
        remove = in_shell("git", "worktree", "remove", "--force", self.folder)
        return (
            f"look at it: {in_shell('git', '-C', self.folder, 'status')}",
            f"keep its commits: {in_shell('git', 'merge', self.branch)}",
            f"drop it: {remove} && {in_shell('git', 'branch', '-D', self.branch)}",
        )


class Freed(NamedTuple):
    """What was removed, and what stays."""

    removed: tuple[Leftover, ...] = ()
    kept: tuple[Leftover, ...] = ()


def leftovers(store: Store, run: str = "") -> list[Leftover]:
    """The worktrees of a run, by default of all that have ended; nobody looks into git.

    Checkouts, which have a time, are no worktrees in this sense.
    """
    found = records(store.place.state)
    # Most projects have none.
    if not found:
        return []
    with store.state(make=False) as state:
        return [*_found(state, found, run)]


def _found(state: State, found: list[Path], only: str) -> Iterator[Leftover]:
    for record in found:
        run, folder = record.parent.name, record.with_suffix("")
        if only not in ("", run) or is_marked(state, run) or _is_checkout(folder):
            continue
        branch = f"hostbridge/{run}/{folder.name}"
        yield Leftover(run, _status(state, run), str(folder), branch)


def _is_checkout(folder: Path) -> bool:
    with suppress(BridgeError, OSError):
        known = find(folder)
        return known is not None and known.until_ms > 0
    return False


def _status(state: State, run: str) -> str:
    """How a run has ended, as its file says; empty if there is no such run."""
    with (
        suppress(StateRefused, OSError, ValueError, TypeError, LookupError),
        state[RUNS].folder(run, make=False) as folder,
    ):
        data = folder.read(FILE)
        return "" if data is None else str(plain_json.loads(data)["status"])
    return "" if not state[RUNS].has(run) else "unreadable"


def free(
    store: Store,
    run: str = "",
    *,
    dry_run: bool = False,
    kept_s: float = 0.0,
    is_asked: bool = True,
) -> Freed:
    """Remove the worktrees and branches that nobody needs, and that hold nothing.

    By default of all runs that are cancelled, or no longer on record. A dry run says
    what would be removed. One with a file that is younger than `kept_s` stays, unless
    a person gave its run up, and `is_asked` says that a person wants this, too.
    """
    removed, kept = [], []
    since_s = store.now_ms() / 1000 - kept_s
    for each in leftovers(store, run):
        if each.is_needed:
            continue
        try:
            is_given_up = is_asked and each.status == "cancelled"
            since = math.inf if is_given_up or not kept_s else since_s
            _remove(store, each, since_s=since, dry_run=dry_run)
            removed.append(each)
        except BridgeError as exc:
            kept.append(each._replace(holds=exc.what))
        except OSError as exc:
            kept.append(each._replace(holds=str(exc)))
    return Freed(tuple(removed), tuple(kept))


def _remove(store: Store, each: Leftover, *, since_s: float, dry_run: bool) -> None:
    # Late: they take the library for git's files.
    from bridge.worktrees.in_use import refuse_in_use
    from bridge.worktrees.refused import WorktreeRefused
    from bridge.worktrees.removal import refuse_unsaved, remove

    found = find(Path(each.folder))
    if found is None:
        return
    # An agent beside it may have changed its record.
    places = {os.path.realpath(p) for p in (store.place.project, store.place.owner)}
    if (found.branch, str(found.project) in places) != (each.branch, True):
        raise WorktreeRefused(f"{each.folder}.json is not as hostbridge wrote it")
    refuse_in_use(found, since_s=since_s)
    if dry_run:
        refuse_unsaved(found)
        return
    with store.state(make=False) as state:
        # It may have been resumed since.
        if is_marked(state, each.run):
            raise WorktreeRefused(f"{each.folder}: its run {each.run} is not over")
    remove(found)
