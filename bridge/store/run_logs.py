"""`runs/<request id>.jsonl`: what happened in a run, one line an event.

A log that is full becomes `<request id>.1.jsonl`. Both go with their request.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from bridge.store.state import State

FOLDER = "runs"
# Oldest first.
SUFFIXES = (".1.jsonl", ".jsonl")
MAX_BYTES = 4 * 1024 * 1024


def append(state: State, request_id: str, event: bytes) -> None:
    """Add one event, encoded, to the log of a run."""
    older, name = (f"{request_id}{suffix}" for suffix in SUFFIXES)
    state[FOLDER].append(name, event + b"\n", max_bytes=MAX_BYTES, older=older)


def read(state: State, request_id: str) -> list[dict[str, Any]]:
    """The events of a run, oldest first; a broken line is skipped."""
    found = []
    for suffix in SUFFIXES:
        data = b""
        with suppress(OSError):
            data = state[FOLDER].read(f"{request_id}{suffix}") or b""
        for line in data.splitlines():
            with suppress(orjson.JSONDecodeError):
                event = orjson.loads(line)
                found += [event] if isinstance(event, dict) else []
    return found
