"""Clean up the state of a project: all that `prune` removes, also by itself.

Once a day a process of its own does it, started by whatever runs then
(`bridge.store.cleaning`). It removes what is older or more than the settings
`keep_days` and `keep_mib` say, but nothing that waits or runs, of the last day, that a
run on record has asked, or that a lock of answers names. If it is killed, the next one
goes on.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.config import Settings
from bridge.errors import BridgeError
from bridge.freshness.pinned import pinned
from bridge.store import cleaning, wakeups
from bridge.store.config_file import in_files
from bridge.store.lock import LockBusy, lock_in
from bridge.store.pins import Pins
from bridge.store.prune import DAY_S
from bridge.tasks.calls import forget
from bridge.tasks.database import Database
from bridge.worktrees.checkouts import sweep
from bridge.worktrees.leftovers import free

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from bridge.store.prune import Pruned, PruneOptions
    from bridge.store.store import Store

# Hooks wait for the lock at most this many removals.
_BATCH = 10
_MIB = 1024 * 1024


def prune(store: Store, **options: Unpack[PruneOptions]) -> Pruned:
    """As `Store.prune`, and what sessions, runs and tasks that are gone have left."""
    gone = store.prune(**options)
    is_dry = options.get("dry_run", False)
    freed = free(
        store,
        dry_run=is_dry,
        kept_s=(options.get("older_than_days") or 0.0) * DAY_S,
        is_asked="least_s" not in options,
    )
    gone = replace(
        gone,
        worktrees=len(freed.removed),
        removed_worktrees=freed.removed,
        kept_worktrees=freed.kept,
    )
    if is_dry:
        return gone
    if (days := options.get("older_than_days")) is not None:
        # One that is in use, or damaged, is for whoever uses it to see.
        with suppress(BridgeError):
            forget(Database(store), days)
    sweep(store)
    bells = wakeups.remove_gone(store)
    Pins(store.place.guard).forget_gone()
    return replace(gone, bells=bells)


def clean(store: Store, settings: Settings, *, dry_run: bool = False) -> Pruned | None:
    """Remove what the settings do not keep; None if another process does so now.

    A dry run only counts.
    """
    days, mib = settings.keep_days, settings.keep_mib
    options: PruneOptions = {
        "older_than_days": days or None,
        "max_bytes": mib * _MIB or None,
        "least_s": DAY_S,
        "is_spared": _spared(store),
        "batch": _BATCH,
        "dry_run": dry_run,
    }
    if dry_run:
        return prune(store, **options)
    with store.state() as state:
        try:
            lock = lock_in(state["locks"], cleaning.LOCK, wait_s=0)
        except LockBusy:
            return None
    with lock:
        gone = prune(store, **options)
        cleaning.note_end(store, gone)
        return gone


def _spared(store: Store) -> Callable[[str], bool]:
    """Which requests stay besides those of runs on record: those that locks name."""
    with store.state(make=False) as state:
        return frozenset(pinned(state)).__contains__


def detached(store: Store, _settings: Settings) -> None:
    """Clean up a state, in a process of its own with the lowest priority."""
    os.nice(19)
    settings, problems = in_files(Settings.from_environment(), store.place.state)
    # With problems, they may say to keep more.
    if not problems:
        # A disk may be full, say: then another day.
        with suppress(OSError):
            clean(store, settings)
