"""`runs/<request id>.jsonl`: what happened in a run, one line an event.

A log that is full becomes `<request id>.1.jsonl`. Both go with their request.
"""

from typing import Any

from bridge.protocol.record import json_lines
from bridge.store import rotating_log
from bridge.store.state import State

FOLDER = "runs"
# Oldest first.
SUFFIXES = (".1.jsonl", ".jsonl")
MAX_BYTES = 4 * 1024 * 1024


def append(state: State, request_id: str, event: bytes) -> None:
    """Add one event, encoded, to the log of a run."""
    older, name = (f"{request_id}{suffix}" for suffix in SUFFIXES)
    line = event + b"\n"
    rotating_log.append(state[FOLDER], name, line, max_bytes=MAX_BYTES, older=older)


def last(state: State, request_id: str, count: int) -> list[dict[str, Any]]:
    """The last events of a run, oldest first; a broken line is skipped."""
    log = rotating_log.read(state[FOLDER], f"{request_id}{SUFFIXES[-1]}")
    return json_lines(b"\n".join(log.splitlines()[-count:]))


def read(state: State, request_id: str) -> list[dict[str, Any]]:
    """The events of a run, oldest first; a broken line is skipped."""
    names = [f"{request_id}{suffix}" for suffix in SUFFIXES]
    return json_lines(rotating_log.read(state[FOLDER], *names))
