"""Sweep: take back what dead hosts held, end what is overdue, finish what was begun."""

from collections.abc import Iterable
from math import inf

from bridge.errors import NewerSchema
from bridge.protocol.claim import HostProcess
from bridge.protocol.failure_codes import explain
from bridge.protocol.response import Response, failed
from bridge.store.claim import (
    claimer_is_gone,
    expired,
    fate_of_claimed,
    is_over,
    wait_again,
)
from bridge.store.idle_agents import find_after, is_gone
from bridge.store.questions import take_reply
from bridge.store.responses import end, finish
from bridge.store.state import State

# So long the lock is held at a time, in seconds: hooks wait for it.
HELD_S = 0.02
_BEGUN = ("processing", "responses", "done")


def sweep(
    state: State, *, waiting: Iterable[str] = (), leaving: HostProcess | None = None
) -> int:
    """Return how many requests changed.

    `waiting` names requests in `requests/` to check; claimed ones are always checked.
    `leaving` is a host that counts as gone.
    """
    with state.hold():
        claimed = state["processing"].names()
        changed = sum(_sweep_claimed(state, name, leaving) for name in claimed)
        return changed + sum(_sweep_waiting(state, name) for name in waiting)


def sweep_all(state: State, *, limit_s: float = inf) -> int:
    """Sweep everything; takes the lock itself, for a short time and again.

    It stops after `limit_s` seconds. Each sweep begins at another place, so that every
    request is reached even if sweeps are cut short.
    """
    until_s = state.clock.monotonic_s() + limit_s
    changed = 0
    # Listed once: of a hundred thousand that wait, hardly one was begun.
    begun = {name for folder in _BEGUN for name in state[folder].names()}

    def sweep_waiting(state: State, name: str) -> bool:
        look = _sweep_waiting if name in begun else _sweep_unbegun
        return look(state, name)

    for folder, look in (("processing", _sweep_claimed), ("requests", sweep_waiting)):
        names = state[folder].names()
        first = state.clock.now_us() % max(1, len(names))
        left = iter(names[first:] + names[:first])
        name = next(left, None)
        while name is not None:
            if state.clock.monotonic_s() >= until_s:
                return changed
            with state.hold_in_turns():
                ends_s = state.clock.monotonic_s() + HELD_S
                while name is not None:
                    changed += look(state, name)
                    name = next(left, None)
                    if state.clock.monotonic_s() >= ends_s:
                        break
    return changed


def _sweep_claimed(state: State, name: str, leaving: HostProcess | None = None) -> bool:
    request = state.find_claimed(name)
    if request is None:
        return False
    try:
        response = state.response(name)
    except NewerSchema:
        return False
    if response is not None:
        finish(state, name, response)
        return True
    claim = request.claim
    gone = claim is not None and (
        claim.host == leaving or claimer_is_gone(state, claim)
    )
    fate = fate_of_claimed(request, host_is_gone=gone, now_ms=state.now_ms())
    if isinstance(fate, Response):
        return end(state, request, fate, source="sweep")
    if fate is not None:
        wait_again(state, fate, code="host_gone" if gone else None)
    return fate is not None


def _sweep_waiting(state: State, name: str) -> bool:
    if state["requests"].has(f"{name}.json") and is_over(state, name):
        return True
    return _sweep_unbegun(state, name)


def _sweep_unbegun(state: State, name: str) -> bool:
    request = state.find_waiting(name)
    if request is None:
        return False
    now_ms = state.now_ms()
    if now_ms >= request.deadline_ms:
        return end(state, request, expired(request, now_ms), source="sweep")
    if request.asks is not None and take_reply(state, request).asks is None:
        return True
    if request.continues is None or request.asks is not None:
        return False
    # By its own id if it has asked, and waits to hear the reply.
    idle = find_after(state, name) or find_after(state, request.continues)
    if idle is not None and not is_gone(state, idle):
        return False
    # No session will take it: nobody else has what it asks about.
    why = "its agent has gone, with its session, or was asked something else"
    message = explain("cannot_continue", why)
    response = failed(request, "cannot_continue", message, now_ms=now_ms)
    return end(state, request, response, source="sweep")
