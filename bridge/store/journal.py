"""events.jsonl: one line for each transition, for people and for `hostbridge show`.

Not the truth: the files are. A line may be missing after a power cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from bridge.store.folder import Folder

NAME = "events.jsonl"
OLDER = "events.1.jsonl"
MAX_BYTES = 4 * 1024 * 1024


def note(state: Folder, now_ms: int, event: str, request_id: str, **facts: Any) -> None:
    """Add one line; the caller holds the store's lock. Values of None are left out."""
    told = {key: value for key, value in facts.items() if value is not None}
    line = {"at": now_ms, "event": event, "requestId": request_id, **told}
    size = state.facts(NAME)
    if size is not None and size.st_size > MAX_BYTES:
        state.move(NAME, state, OLDER)
    state.append(NAME, orjson.dumps(line) + b"\n")


def lines_about(state: Folder, request_id: str) -> list[dict[str, Any]]:
    """The lines that concern a request, oldest first; a broken line is skipped."""
    found = []
    wanted = request_id.encode()
    for name in (OLDER, NAME):
        for line in (state.read(name) or b"").splitlines():
            if wanted not in line:
                continue
            try:
                event = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            if isinstance(event, dict) and event.get("requestId") == request_id:
                found.append(event)
    return found
