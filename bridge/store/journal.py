"""events.jsonl: one line for each transition, for people, `show` and metrics.

The files are the truth, not this log. A line is written after the event, and may be
missing: after a power cut, on a full disk, or if something else has the log's name.
That never turns a completed transition into an error.

A line begins with `{"at":…,"event":"…","requestId":"…"`, in this spelling: to find a
few kinds of events, nobody has to parse the others. Texts of others in it are short,
but for the reasons of what was rejected.

A full log gets the time of that into its name, `events.<ms>-<random>.jsonl`: two
processes that find it full at once lose nothing. Of these the newest are kept, up to
`KEPT_BYTES`. With four lines and some 650 bytes a request, that is room for more than
50,000 requests: about 1,800 a day for a month. `events.1.jsonl` is of an earlier
hostbridge, and the oldest.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from bridge.protocol import plain_json
from bridge.protocol.record import json_object
from bridge.store import rotating_log
from bridge.store.directory import Folder

NAME = "events.jsonl"
MAX_BYTES = 4 * 1024 * 1024
KEPT_BYTES = 32 * 1024 * 1024
_HEAD, _TAIL = "events.", ".jsonl"


def note(state: Folder, now_ms: int, event: str, request_id: str, **facts: Any) -> None:
    """Add one line if possible. Values of None are left out."""
    known = {key: value for key, value in facts.items() if value is not None}
    line = {"at": now_ms, "event": event, "requestId": request_id, **known}
    older = f"{_HEAD}{now_ms}-{os.urandom(4).hex()}{_TAIL}"
    with suppress(OSError, plain_json.JSONEncodeError):
        data = plain_json.dumps(line) + b"\n"
        if rotating_log.append(state, NAME, data, max_bytes=MAX_BYTES, older=older):
            _bound(state)


def contents(state: Folder) -> Iterator[bytes]:
    """What is in each of its files, the newest first."""
    newest = rotating_log.read(state, NAME)
    yield newest
    for name in reversed(_older_files(state)):
        data = rotating_log.read(state, name)
        # It became full, and got another name, after it was read.
        is_again = newest and data.startswith(newest)
        yield data[len(newest) :] if is_again else data


def _older_files(state: Folder) -> list[str]:
    """The names of its full files, the oldest first."""
    found = []
    for name in state.names(_TAIL):
        at, _, _ = name.removeprefix(_HEAD).partition("-")
        if name.startswith(_HEAD) and at.isascii() and at.isdecimal():
            found.append((int(at), f"{name}{_TAIL}"))
    return [name for _, name in sorted(found)]


def _bound(state: Folder) -> None:
    """Remove the oldest files, until the rest is as large as may be kept."""
    left = KEPT_BYTES
    for name in reversed(_older_files(state)):
        facts = state.facts(name)
        left -= facts.st_size if facts else 0
        if left < 0:
            with suppress(OSError):
                state.remove(name)


def remove_older(state: Folder, than_s: float, now_s: float) -> None:
    """Remove the files that have been full for longer than so many seconds."""
    for name in _older_files(state):
        facts = state.facts(name)
        if facts is not None and now_s - facts.st_ctime > than_s:
            with suppress(OSError):
                state.remove(name)


def lines_about(state: Folder, request_id: str) -> list[dict[str, Any]]:
    """The lines that concern a request, oldest first; a broken line is skipped."""
    wanted = request_id.encode()
    files = [[*_lines_with(wanted, data)] for data in contents(state)]
    events = (json_object(line) for lines in reversed(files) for line in lines)
    return [event for event in events if event.get("requestId") == request_id]


def lines(state: Folder) -> Iterator[dict[str, Any]]:
    """All lines, oldest first; a broken line is empty."""
    for data in reversed([*contents(state)]):
        yield from map(json_object, data.splitlines())


def _lines_with(wanted: bytes, data: bytes) -> Iterator[bytes]:
    at = data.find(wanted)
    while at >= 0:
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        end = len(data) if end < 0 else end
        yield data[start:end]
        at = data.find(wanted, end)


def newest_lines(state: Folder, count: int) -> Iterator[dict[str, Any]]:
    """The last `count` lines of each of its two newest files, newest first.

    A broken line is empty.
    """
    for data in islice(contents(state), 2):
        lines = data.rsplit(b"\n", count + 1)
        yield from map(json_object, reversed(lines[-count - 1 : -1]))
