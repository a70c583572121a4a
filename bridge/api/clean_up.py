"""Clean up the state of a project: all that `prune` removes, also by itself.

As a script, `clean_up.py PLACE`, it is the process that cleans up once a day, started
by whatever runs then (`bridge.store.cleaning`), with the lowest priority. PLACE is the
project's `Place` as a JSON list. It removes what is older or more than the settings
`keep_days` and `keep_mib` say, but nothing that waits or runs, of the last day, that a
run on record has asked, or that a lock of answers names. If it is killed, the next one
goes on.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress

TYPE_CHECKING = False
# Nothing of ours is imported before its path is set, below.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from bridge.config import Settings
    from bridge.store.prune import Pruned, PruneOptions
    from bridge.store.store import Store

# Hooks wait for the lock at most this many removals.
_BATCH = 10
_MIB = 1024 * 1024


def prune(store: Store, **options: Unpack[PruneOptions]) -> Pruned:
    """As `Store.prune`, and what sessions, runs and tasks that are gone have left."""
    from dataclasses import replace

    from bridge.errors import BridgeError
    from bridge.store import wakeups
    from bridge.store.pins import Pins
    from bridge.store.prune import DAY_S
    from bridge.tasks.calls import forget
    from bridge.tasks.database import Database
    from bridge.worktrees.checkouts import sweep
    from bridge.worktrees.leftovers import free

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
    from bridge.store import cleaning
    from bridge.store.lock import LockBusy, lock_in
    from bridge.store.prune import DAY_S

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
    """Which requests stay: those of runs on record, and those that locks name."""
    from bridge.freshness.pinned import pinned
    from bridge.store.live_runs import RUNS

    with store.state(make=False) as state:
        runs = {entry.name for entry in state[RUNS].entries()}
        named = pinned(state)
    return lambda name: name in named or name.partition("-")[0] in runs


def main(place: str) -> None:
    """Clean up one state."""
    from bridge.config import Settings
    from bridge.errors import BridgeError
    from bridge.store.config_file import in_files
    from bridge.store.hook_log import log_failure
    from bridge.store.location import Place
    from bridge.store.store import Store

    os.nice(19)
    where = Place.of_words(json.loads(place))
    settings, problems = in_files(Settings.from_environment(), where.state)
    if problems:
        # They may say to keep more.
        return
    try:
        clean(Store(where, lease_s=settings.lease_s), settings)
    except (BridgeError, OSError):
        # A disk that is full, say: another day.
        return
    except Exception:  # noqa: BLE001 - nobody sees it otherwise
        log_failure("clean up")


if __name__ == "__main__":
    # Whoever started us neither waits for us nor takes us along to its end.
    if os.fork():
        os._exit(0)
    # The same package as that of whoever started it, whatever else is installed.
    sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
    main(*sys.argv[1:])
