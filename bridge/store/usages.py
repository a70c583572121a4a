"""What an answer took in the end: a line of the journal, since a response is sealed.

    {"event": "usage", "requestId": "...", "usage": {...}, "model": "..."}

It is there if an agent's end told more than its answer. The last line of a request
holds all of it, not only what was added.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from bridge.errors import StateUnavailable
from bridge.protocol.ids import RequestId
from bridge.protocol.response import Response
from bridge.protocol.usage import Usage
from bridge.store.store import Store

EVENT = "usage"


def note_usage(store: Store, request_id: str, usage: Usage, model: str) -> None:
    """Note what the agent of a request took, unless its response says the same."""
    with suppress(OSError, StateUnavailable), store.state() as state:
        response = state.response(RequestId(request_id))
        if response is not None and response.usage != usage:
            facts = {"usage": usage.to_data(), "model": model or None}
            state.note(EVENT, request_id, **facts)


def final_usage(
    response: Response | None, history: Iterable[Mapping[str, Any]]
) -> Usage | None:
    """What an answer took, as far as anybody told; `history` is its lines."""
    told = [line.get("usage") for line in history if line.get("event") == EVENT]
    found = [each for each in told if Usage.fits(each)]
    if found:
        return Usage.model_validate(found[-1])
    return response.usage if response else None
