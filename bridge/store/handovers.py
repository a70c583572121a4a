"""Calls that rules have handed to agents: `sessions/<id>.handovers.json`.

A call that is made again meets the same request while that is open. The key stands for
the rule, who made the call, and what it says. Only whoever made the call may start the
agent: the agent's id is beside the request, empty for the main thread.
"""

from bridge.protocol import plain_json
from bridge.protocol.record import json_object
from bridge.store.book import Book
from bridge.store.store import Store

# Begins the key of work that no call waits for.
BESIDE = "beside "
# Of work that a process of its own does: the session starts no agent for it. The key
# goes once somebody has been told the answer.
HEADLESS = "headless "
_MAX_BYTES = 1024 * 1024
# The oldest go first.
_MAX_KEPT = 200

# By key: the request, and the agent that made the call.
Handovers = dict[str, tuple[str, str]]


def find_handover(store: Store, session_id: str, key: str) -> str | None:
    """The request that a call was handed to; None if it never was."""
    found = _known(store, session_id).get(key)
    return found[0] if found else None


def handed_over(store: Store, session_id: str) -> set[str]:
    """The requests that rules have made there, of whatever kind."""
    return {request for request, _agent in _known(store, session_id).values()}


def callers(store: Store, session_id: str) -> dict[str, str]:
    """By request, the agent whose call was handed over."""
    return {
        request: agent
        for key, (request, agent) in _known(store, session_id).items()
        if not key.startswith((BESIDE, HEADLESS))
    }


def untold(store: Store, session_id: str) -> dict[str, str]:
    """The requests that processes of their own work on, or have answered, by key."""
    return {
        key: request
        for key, (request, _agent) in _known(store, session_id).items()
        if key.startswith(HEADLESS)
    }


def note_handover(
    store: Store, session_id: str, key: str, request: str | None, agent_id: str = ""
) -> None:
    """Write down the request of a call; None forgets it."""

    def noted(before: Handovers | None) -> Handovers:
        known = {name: each for name, each in (before or {}).items() if name != key}
        if request is not None:
            known[key] = request, agent_id
        return dict(list(known.items())[-_MAX_KEPT:])

    _BOOK.change(store, session_id, noted)


def forget_answer(store: Store, session_id: str, request_id: str) -> None:
    """Forget the work of a process of its own: nobody is to be told of it."""
    for key, known in untold(store, session_id).items():
        if known == request_id:
            note_handover(store, session_id, key, None)


def forget_handovers(store: Store, session_id: str) -> None:
    """Forget all that was given away: nobody waits for it any more."""
    _BOOK.forget(store, session_id)


def _known(store: Store, session_id: str) -> Handovers:
    return _BOOK.get(store, session_id) or {}


def _read(data: bytes) -> Handovers:
    return {
        key: (str(value[0]), str(value[1]))
        for key, value in json_object(data).items()
        if isinstance(value, list) and len(value) == 2  # noqa: PLR2004 - a pair
    }


_BOOK = Book("sessions", ".handovers.json", _read, plain_json.dumps, limit=_MAX_BYTES)
