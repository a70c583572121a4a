"""The log of a run, `runs/<request id>.jsonl`: one line for each event.

    told            role, text: each message that the run begins with
    model_request   turn, messages
    model_reply     turn, text, tokens, promptTokens, cachedTokens, ms
    tool_call       turn, id, tool, arguments
    tool_result     turn, id, ok, text, ms
    submit_result   turn, arguments, code, complaint
    error           turn, code, message

Each line has `at`, milliseconds since 1970, and `requestId`. Long texts are cut. The
log is for people and for `hostbridge show`: if it cannot be written, the run goes on.
"""

from contextlib import suppress
from typing import Any

import orjson

from bridge.errors import BridgeError
from bridge.protocol.record import printable
from bridge.store.store import Store

MAX_TEXT_CHARS = 4_000


class TurnLog:
    """Writes the events of one run; call it with each.

    Args:
        store: keeps the log, and is best held open.
        request_id: names the run.
    """

    def __init__(self, store: Store, request_id: str) -> None:
        self._store = store
        self._request_id = request_id

    def __call__(self, event: dict[str, Any]) -> None:
        """Log one event, if possible."""
        line = {
            "at": self._store.now_ms(),
            "requestId": self._request_id,
            **{key: _capped(value) for key, value in event.items()},
        }
        with suppress(OSError, BridgeError, orjson.JSONEncodeError):
            self._store.log_run(self._request_id, orjson.dumps(line))


def _capped(value: Any) -> Any:
    """The value; if it is long or not JSON, the beginning of its text."""
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
