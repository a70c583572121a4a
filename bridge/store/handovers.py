"""Calls that rules have handed to agents: `sessions/<id>.handovers.json`.

A call that is made again meets the same request while that is open. The key stands for
the rule, who made the call, and what it says. Only whoever made the call may start the
agent: the agent's id is beside the request, empty for the main thread.
"""

from contextlib import suppress
from typing import Any

from bridge.protocol import plain_json
from bridge.store.directory import Folder, NotAPlainFile
from bridge.store.store import Store

# Begins the key of work that no call waits for.
BESIDE = "beside "
# Of work that a process of its own does: the session starts no agent for it. The key
# goes once somebody has been told the answer.
HEADLESS = "headless "
_MAX_BYTES = 1024 * 1024
# The oldest go first.
_MAX_KEPT = 200


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
    with store.state() as state, state.hold_if_free():
        folder = state["sessions"]
        known = _load(folder, session_id)
        known.pop(key, None)
        if request is not None:
            known[key] = request, agent_id
        kept = dict(list(known.items())[-_MAX_KEPT:])
        folder.replace(_file(session_id), plain_json.dumps(kept), durable=False)


def forget_answer(store: Store, session_id: str, request_id: str) -> None:
    """Forget the work of a process of its own: nobody is to be told of it."""
    for key, known in untold(store, session_id).items():
        if known == request_id:
            note_handover(store, session_id, key, None)


def forget_handovers(store: Store, session_id: str) -> None:
    """Forget all that was given away: nobody waits for it any more."""
    with store.folder("sessions") as folder:
        folder.remove(_file(session_id))


def _file(session_id: str) -> str:
    return f"{session_id}.handovers.json"


def _known(store: Store, session_id: str) -> dict[str, tuple[str, str]]:
    with store.folder("sessions") as folder:
        return _load(folder, session_id)


def _load(folder: Folder, session_id: str) -> dict[str, tuple[str, str]]:
    with suppress(NotAPlainFile, plain_json.JSONDecodeError):
        found: Any = plain_json.loads(
            folder.read(_file(session_id), _MAX_BYTES) or b"{}"
        )
        if isinstance(found, dict):
            return {
                key: (str(value[0]), str(value[1]))
                for key, value in found.items()
                if isinstance(value, list) and len(value) == 2  # noqa: PLR2004 - a pair
            }
    return {}
