"""Look at requests without changing anything; no lock is taken."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson

from bridge.protocol.ids import is_id
from bridge.store import Found
from bridge.store.folder import NotAPlainFile
from bridge.store.order import in_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.protocol.ids import RequestId
    from bridge.protocol.request import Request
    from bridge.store.order import Rank
    from bridge.store.rooms import Rooms


def find(rooms: Rooms, request_id: RequestId) -> Found | None:
    """The request as it stands; None when there is none.

    Raises:
        NewerSchema: a newer hostbridge wrote its answer.
    """
    if not is_id(request_id):
        return None
    # It may move from a folder not yet looked at to one already seen.
    for _ in range(3):
        found = look(rooms, request_id)
        if found is not None:
            return found
    return None


def look(rooms: Rooms, request_id: RequestId) -> Found | None:
    """One look, in the order in which a request moves on."""
    request = rooms.waiting(request_id) or rooms.claimed(request_id)
    response = rooms.response(request_id)
    if response is not None:
        ended = rooms.ended(request_id) or request
        return Found(response.status, ended, response)
    return Found(request.status, request, None) if request else None


def waiting_in_order(rooms: Rooms) -> Iterator[RequestId]:
    """Ids of `requests/` in the order in which they should be claimed."""

    def rank(name: str) -> Rank | None:
        request = rooms.waiting(name)
        return (request.priority, request.created_at * 1000) if request else None

    return in_order(rooms["requests"].names(), rank)


def has_waiting(rooms: Rooms) -> bool:
    """Whether anything waits; the cost does not grow with the queue."""
    return any(
        entry.name.endswith(".json") and entry.name[0] != "."
        for entry in rooms["requests"].entries()
    )


def all_claimed(rooms: Rooms) -> list[Request]:
    """What lies in `processing/`, oldest claim first."""
    loaded = (rooms.claimed(name) for name in rooms["processing"].names())
    held = [request for request in loaded if request is not None]
    return sorted(held, key=lambda r: r.claim.at if r.claim else 0)


def evidence_of(rooms: Rooms, request_id: RequestId) -> list[dict[str, Any]]:
    """What was kept for a request, oldest first; what cannot be read is left out."""
    folder = rooms["evidence"]
    kept = []
    for name in sorted(n for n in folder.names() if n.rpartition(".")[0] == request_id):
        with suppress(orjson.JSONDecodeError, NotAPlainFile):
            told = orjson.loads(folder.read(f"{name}.json") or b"null")
            if isinstance(told, dict):
                kept.append(told)
    return kept
