"""Sweep: take back what dead hosts held, end what is overdue, finish what was begun."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from bridge.errors import NewerSchema
from bridge.store.claim import is_over, wait_again
from bridge.store.lease import claimer_is_gone
from bridge.store.lifecycle import expired, fate_of_claimed
from bridge.store.publish import end, finish
from bridge.store.queries import all_claimed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.protocol.request import HostProcess, Request
    from bridge.store.state import State


# The lock is released after so many waiting requests: hooks wait for it.
BATCH = 100


def sweep(
    state: State, *, waiting: Iterable[str] = (), leaving: HostProcess | None = None
) -> int:
    """Return how many requests changed.

    `waiting` names requests in `requests/` to check; claimed ones are always checked.
    `leaving` is a host that counts as gone.
    """
    with state.hold():
        changed = sum(_sweep_claimed(state, r, leaving) for r in all_claimed(state))
        return changed + sum(_sweep_waiting(state, name) for name in waiting)


def sweep_all(state: State, *, limit_s: float = inf) -> int:
    """Sweep everything; takes the lock itself, one batch at a time.

    It stops after `limit_s` seconds. Each sweep begins at another place, so that every
    request is reached even if sweeps are cut short.
    """

    def claimed(name: str) -> bool:
        request = state.claimed(name)
        return request is not None and _sweep_claimed(state, request)

    until_s = state.clock.monotonic_s() + limit_s
    changed = 0
    for folder, look in (
        ("processing", claimed),
        ("requests", lambda name: _sweep_waiting(state, name)),
    ):
        names = state[folder].names()
        first = state.clock.now_us() % max(1, len(names))
        names = names[first:] + names[:first]
        for start in range(0, len(names), BATCH):
            if state.clock.monotonic_s() >= until_s:
                return changed
            with state.hold_in_turns():
                changed += sum(look(name) for name in names[start : start + BATCH])
    return changed


def _sweep_claimed(
    state: State, request: Request, leaving: HostProcess | None = None
) -> bool:
    try:
        response = state.response(request.request_id)
    except NewerSchema:
        return False
    if response is not None:
        finish(state, request.request_id, response)
        return True
    claim = request.claim
    gone = claim is not None and (
        claim.host == leaving or claimer_is_gone(state, claim)
    )
    fate = fate_of_claimed(request, host_is_gone=gone, now_ms=state.now_ms())
    if fate.response is not None:
        return end(state, request, fate.response, source="sweep")
    if fate.request is not None:
        wait_again(state, fate.request)
    return fate.kind != "keep"


def _sweep_waiting(state: State, name: str) -> bool:
    if not state["requests"].has(f"{name}.json"):
        return False
    if is_over(state, name):
        return True
    request = state.waiting(name)
    now_ms = state.now_ms()
    if request is None or now_ms < request.deadline_ms:
        return False
    return end(state, request, expired(request, now_ms), source="sweep")
