"""Prune: remove what has ended, and what dead sessions left behind."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.host import pins
from bridge.store import wakeups

if TYPE_CHECKING:
    from bridge.api.bridge import Bridge
    from bridge.store.prune import Pruned


def prune(
    bridge: Bridge,
    *,
    older_than_days: float | None = None,
    max_bytes: int | None = None,
) -> Pruned:
    """Remove finished requests as `Store.prune`, and wake-up folders nobody watches."""
    gone = bridge.store.prune(older_than_days=older_than_days, max_bytes=max_bytes)
    taken_down = wakeups.remove_gone(bridge.store)
    pins.forget_gone(bridge.store.place)
    return replace(gone, bells=taken_down)
