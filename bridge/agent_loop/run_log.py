"""`runs/<request id>.jsonl`: what happened in a run, turn by turn, one line an event.

    told            role, text: each message that the run begins with
    model_request   turn, messages
    model_reply     turn, text, tokens, promptTokens, cachedTokens, ms
    tool_call       turn, id, tool, arguments
    tool_result     turn, id, ok, text, ms
    submit_result   turn, arguments, code, complaint
    error           turn, code, message

Each line has `at`, milliseconds since 1970, and `requestId`. Long texts are cut. The
log is for people and for `hostbridge show`: if a line cannot be written, the run goes
on.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson

from bridge.errors import BridgeError
from bridge.protocol.record import printable

if TYPE_CHECKING:
    from bridge.store.store import Store

MAX_TEXT_CHARS = 4_000


class TurnLog:
    """Writes the events of one run; call it with each.

    Args:
        store: whose state directory it writes to, best held open.
        request_id: the run; an id, so never a path.
    """

    def __init__(self, store: Store, request_id: str) -> None:
        self._store = store
        self._request_id = request_id

    def __call__(self, event: dict[str, Any]) -> None:
        """Add one event, if that can be done."""
        line = {
            "at": self._store.now_ms(),
            "requestId": self._request_id,
            **{key: _capped(value) for key, value in event.items()},
        }
        with suppress(OSError, BridgeError, orjson.JSONEncodeError):
            self._store.log_run(self._request_id, orjson.dumps(line))


def _capped(value: Any) -> Any:
    """The value, or the beginning of its text if it is long or not JSON."""
    if not isinstance(value, (str, dict, list)):
        return value
    if isinstance(value, str):
        value = text = printable(value)
    else:
        try:
            text = orjson.dumps(value).decode()
        except (orjson.JSONEncodeError, RecursionError):
            value = text = printable(repr(value))
    cut = len(text) - MAX_TEXT_CHARS
    return f"{text[:MAX_TEXT_CHARS]}… {cut:,} more" if cut > 0 else value
