"""Calls that rules have handed to agents: `sessions/<id>.handovers.json`.

A call that is made again meets the same request while that is open. The key stands for
the rule, who made the call, and what it says.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson

from bridge.store.directory import NotAPlainFile

if TYPE_CHECKING:
    from bridge.store.directory import Folder
    from bridge.store.store import Store

_MAX_BYTES = 1024 * 1024
# The oldest go first.
_MAX_KEPT = 200


def find_handover(store: Store, session_id: str, key: str) -> str | None:
    """The request that a call was handed to; None if it never was."""
    with store.folder("sessions") as folder:
        return _load(folder, session_id).get(key)


def is_handed_over(store: Store, session_id: str, request: str) -> bool:
    """Whether a request stands for a call of this session."""
    with store.folder("sessions") as folder:
        return request in _load(folder, session_id).values()


def note_handover(store: Store, session_id: str, key: str, request: str | None) -> None:
    """Write down the request of a call; None forgets it."""
    with store.state() as state, state.hold_if_free():
        folder = state["sessions"]
        known = _load(folder, session_id)
        known.pop(key, None)
        if request is not None:
            known[key] = request
        kept = dict(list(known.items())[-_MAX_KEPT:])
        folder.replace(_file(session_id), orjson.dumps(kept), durable=False)


def _file(session_id: str) -> str:
    return f"{session_id}.handovers.json"


def _load(folder: Folder, session_id: str) -> dict[str, str]:
    with suppress(NotAPlainFile, orjson.JSONDecodeError):
        found: Any = orjson.loads(folder.read(_file(session_id), _MAX_BYTES) or b"{}")
        if isinstance(found, dict):
            return {k: v for k, v in found.items() if isinstance(v, str)}
    return {}
