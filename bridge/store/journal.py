"""events.jsonl: one line for each transition, for people and for `hostbridge show`.

The files are the truth, not this log. A line is written after the event, and may be
missing: after a power cut, on a full disk, or if something else has the log's name.
That never turns a completed transition into an error.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from bridge.protocol import plain_json
from bridge.protocol.record import json_object
from bridge.store import rotating_log
from bridge.store.directory import Folder

NAME = "events.jsonl"
OLDER = "events.1.jsonl"
MAX_BYTES = 4 * 1024 * 1024


def note(state: Folder, now_ms: int, event: str, request_id: str, **facts: Any) -> None:
    """Add one line if possible. Values of None are left out."""
    known = {key: value for key, value in facts.items() if value is not None}
    line = {"at": now_ms, "event": event, "requestId": request_id, **known}
    with suppress(OSError, plain_json.JSONEncodeError):
        data = plain_json.dumps(line) + b"\n"
        rotating_log.append(state, NAME, data, max_bytes=MAX_BYTES, older=OLDER)


def lines_about(state: Folder, request_id: str) -> list[dict[str, Any]]:
    """The lines that concern a request, oldest first; a broken line is skipped."""
    wanted = request_id.encode()
    lines = rotating_log.read(state, OLDER, NAME).splitlines()
    events = (json_object(line) for line in lines if wanted in line)
    return [event for event in events if event.get("requestId") == request_id]


def lines(state: Folder) -> Iterator[dict[str, Any]]:
    """All lines, oldest first; a broken line is empty."""
    yield from map(json_object, rotating_log.read(state, OLDER, NAME).splitlines())


def newest_lines(state: Folder, count: int) -> Iterator[dict[str, Any]]:
    """The last `count` lines of each file, newest first; a broken line is empty."""
    for name in (NAME, OLDER):
        lines = rotating_log.read(state, name).rsplit(b"\n", count + 1)
        yield from map(json_object, reversed(lines[-count - 1 : -1]))
