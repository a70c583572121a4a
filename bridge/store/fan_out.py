"""Whoever asks for more agents at once than a limit waits for a person's yes.

Decided when a request is submitted: one of the same asker's requests is one too many if
so many of them wait or run already. It is marked (`held`, with the limit), and stays
marked when others end: only `hostbridge approve` frees it. Requests of one agent, of
one rule, of one session, or of programs of one name have one asker. Below a session the
environment names nobody else.

    held            an empty file in the state directory: some requests are held
    askers/*.json   by the digest of an asker: the ids of its requests, at most as many
                    as the limit, so that a long queue need not be read at each submit
"""

import re
from collections.abc import Iterable, Iterator

from bridge.protocol import plain_json
from bridge.protocol.digest import sha256_of
from bridge.protocol.ids import RequestId, is_id
from bridge.protocol.request import Request
from bridge.store.directory import NotAPlainFile
from bridge.store.state import State, file_of

_SIGN = "held"
_PID = re.compile(r" \(pid \d+\)$")
_ASKERS = "askers"
_MAX_LISTED = 500


def is_surplus(state: State, request: Request, most: int) -> bool:
    """Whether its asker has so many waiting or running already; if not, count it.

    The lock is held, and the request is published next: an id that never was is no
    live request.
    """
    if request.route != "host":
        return False
    file = f"{sha256_of(repr(_asker(request)).encode())}.json"
    live = _live(state, file)
    if len(live) >= most:
        return True
    data = plain_json.dumps([*live, request.request_id])
    # A list that is lost counts nobody, which costs less than a wait for the disk.
    state[_ASKERS].replace_unsynced(file, data)
    return False


def forget_ended(state: State) -> None:
    """Remove the lists of askers none of whose requests waits or runs. Locks."""
    for name in state[_ASKERS].names():
        with state.hold_in_turns():
            if not _live(state, f"{name}.json"):
                state[_ASKERS].remove(f"{name}.json")


def _live(state: State, file: str) -> list[str]:
    """Those in an asker's list that wait or run; a damaged list is empty."""
    try:
        ids = plain_json.loads(state[_ASKERS].read(file) or b"[]")
    except (NotAPlainFile, plain_json.JSONDecodeError):
        return []
    return [
        each
        for each in (ids if isinstance(ids, list) else [])
        if is_id(each)
        and any(state[f].has(file_of(each)) for f in ("requests", "processing"))
    ]


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
        request = state.find_waiting(name)
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
        ("requests", state.find_waiting(request_id)),
        ("processing", state.find_claimed(request_id)),
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
