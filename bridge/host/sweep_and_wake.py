"""Sweep, and wake the sessions that may take what waits again.

A killed host tells nobody. The next program that looks gives back what it held; the
open sessions may be idle, and would not look by themselves.
"""

from collections.abc import Iterable
from contextlib import suppress

from bridge.errors import StateRefused, StateUnavailable
from bridge.protocol.ids import RequestId
from bridge.store import sessions, wakeups
from bridge.store.store import Store


def sweep(store: Store, *, waiting: Iterable[RequestId] = ()) -> int:
    """As `Store.sweep`; if something changed, wake sessions for what waits."""
    changed = store.sweep(waiting=waiting)
    if changed:
        wake_all(store)
    return changed


def wake_all(store: Store) -> None:
    """Wake every open session if anything waits: each takes what it may.

    A failed wake-up only costs time.
    """
    with suppress(StateUnavailable, StateRefused):
        if store.has_waiting():
            wakeups.wake(store, sessions.live_sessions(store))
