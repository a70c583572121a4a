"""Whoever asks for more agents at once than a limit waits for a person's yes.

Decided when a request is submitted: one of the same asker's requests is one too many if
so many of them wait or run already. It is marked (`held`, with the limit), and stays
marked when others end: only `hostbridge approve` frees it. Requests of one agent, of
one rule, of one session, or of programs of one name have one asker. Below a session the
environment names nobody else.

    held    an empty file in the state directory: some requests are held
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.store.state import file_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridge.protocol.ids import RequestId
    from bridge.protocol.request import Request
    from bridge.store.state import State

_SIGN = "held"
_PID = re.compile(r" \(pid \d+\)$")
# Among the newest, so many of other askers are read at most.
_READ = 1000
_MAX_LISTED = 500


def is_surplus(state: State, request: Request, most: int) -> bool:
    """Whether its asker has so many waiting or running already. The lock is held."""
    if request.route != "host":
        return False
    names = [*state.ids("requests"), *state.ids("processing")]
    if len(names) < most:
        return False
    asker, found = _asker(request), 0
    # Ours sort by time: a burst is at the end.
    for name in sorted(names, reverse=True)[: most + _READ]:
        other = state.live(name)
        found += other is not None and other.route == "host" and _asker(other) == asker
        if found >= most:
            return True
    return False


def _asker(request: Request) -> tuple[str | None, ...]:
    if request.asker is not None:
        return (f"session {request.asker}",)
    if request.parent_request_id is not None:
        return (request.parent_request_id,)
    # Each command of a loop has a shell of its own.
    return _PID.sub("", request.requester or ""), request.session


def mark(state: State) -> None:
    """Note that a request is held."""
    state.directory.touch(_SIGN)


def sign_of(state: State) -> str:
    """Names the time since which requests are held; empty if none is."""
    facts = state.directory.facts(_SIGN)
    return f"held {facts.st_mtime_ns}" if facts else ""


def held_requests(state: State) -> list[Request]:
    """The first requests that are held."""
    return list(_held(state))


def _held(state: State) -> Iterator[Request]:
    left = _MAX_LISTED
    for name in sorted(state.ids("requests")) if sign_of(state) else ():
        request = state.waiting(name)
        if request is not None and request.held is not None:
            yield request
            left -= 1
        if not left:
            return


def approve(state: State, ids: Iterable[RequestId]) -> int:
    """Free held requests, and let the agents of running ones start more; how many.

    The lock is held.
    """
    freed = sum(_approve(state, request_id) for request_id in ids)
    if not held_requests(state):
        forget(state)
    # Sessions have passed them over: they look again.
    sessions = state["sessions"]
    for name in sessions.names(".passed"):
        sessions.remove(f"{name}.passed")
    return freed


def _approve(state: State, request_id: RequestId) -> bool:
    for folder, request in (
        ("requests", state.waiting(request_id)),
        ("processing", state.claimed(request_id)),
    ):
        if request is None or request.approved:
            continue
        if folder == "processing" or request.held is not None:
            now = request.with_(held=None, approved=True)
            state[folder].replace(file_of(request_id), now.to_json())
            state.note("approved", request_id)
            return True
    return False


def forget(state: State) -> None:
    """No request is held any more."""
    state.directory.remove(_SIGN)
