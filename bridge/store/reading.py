"""Read records that anybody may have written, and put aside what nobody can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from bridge.errors import NewerSchema
from bridge.protocol.ids import is_id
from bridge.protocol.record import Unparsable, parse
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.protocol.status import Status
from bridge.store.folder import NotAPlainFile
from bridge.store.journal import note
from bridge.store.seal import is_genuine

if TYPE_CHECKING:
    from bridge.store.folder import Folder

# A file dropped by another program may still be being written this long.
SETTLE_MS = 2_000


def load_waiting(
    state: Folder, requests: Folder, name: str, now_ms: int
) -> Request | None:
    """Read `requests/<name>.json`; None for what is not (yet) a request.

    Defaults fill what a hand-written file leaves out: `createdAt` is the file's time.
    What cannot be read is put aside, unless it is so young that it may be unfinished.
    """
    request = _load(state, requests, name, now_ms)
    if request is None:
        return None
    created = request.created_at
    if not created:
        facts = requests.facts(f"{name}.json")
        created = min(facts.st_mtime_ns // 1_000_000, now_ms) if facts else now_ms
    return request.with_(created_at=created, status=Status.PENDING, claim=None)


def load_claimed(
    state: Folder, processing: Folder, name: str, now_ms: int
) -> Request | None:
    """Read `processing/<name>.json`; None for what is not a request."""
    return _load(state, processing, name, now_ms)


def load_response(
    state: Folder, responses: Folder, name: str, key: bytes, now_ms: int
) -> Response | None:
    """Read `responses/<name>.json`; one that we did not write is put aside.

    Raises:
        NewerSchema: a newer hostbridge wrote it.
    """
    try:
        data = responses.read(f"{name}.json")
        if data is None:
            return None
        response = parse(Response, data)
        if response.request_id != name:
            raise Unparsable(f"requestId is {response.request_id!r}")
        if not is_genuine(response, key):
            raise Unparsable("not written by hostbridge: the seal is missing or wrong")
    except (Unparsable, NotAPlainFile) as exc:
        put_aside(state, responses, f"{name}.json", str(exc), now_ms)
        return None
    return response


def _load(state: Folder, folder: Folder, name: str, now_ms: int) -> Request | None:
    file = f"{name}.json"
    try:
        data = folder.read(file)
        if data is None:
            return None
        if not is_id(name):
            raise Unparsable("the file name is not a request id")
        request = parse(Request, data)
        if request.request_id != name:
            raise Unparsable(f"requestId is {request.request_id!r}, unlike the name")
    except NewerSchema:
        return None
    except (Unparsable, NotAPlainFile) as exc:
        facts = folder.facts(file)
        if facts and abs(now_ms - facts.st_mtime_ns // 1_000_000) < SETTLE_MS:
            return None
        put_aside(state, folder, file, str(exc), now_ms)
        return None
    return request


def put_aside(state: Folder, folder: Folder, file: str, why: str, now_ms: int) -> None:
    """Move a file nobody can read to `quarantine/`, as it is, the reason beside it."""
    with state.folder("quarantine") as quarantine:
        kept = f"{file[:200]}.{now_ms}"
        origin = f"{folder.path}/{file}"
        try:
            folder.move(file, quarantine, kept)
        except FileNotFoundError:
            return
        reason = {"from": origin, "at": now_ms, "reason": why}
        quarantine.replace(
            f"{kept}.reason", orjson.dumps(reason) + b"\n", durable=False
        )
    stem = file.removesuffix(".json")
    note(state, now_ms, "quarantined", stem if is_id(stem) else "", reason=why)
