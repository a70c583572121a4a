"""Submit: make a request durable and visible, whole, once."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

import orjson

from bridge.errors import InvalidRequest
from bridge.protocol.failure import ANSWERED
from bridge.protocol.ids import RequestId, is_id
from bridge.store import Submitted
from bridge.store.backlog import adding
from bridge.store.folder import NotAPlainFile
from bridge.store.looking import look
from bridge.store.rooms import file_of

if TYPE_CHECKING:
    from bridge.protocol.request import Request
    from bridge.protocol.response import Response
    from bridge.store import Found
    from bridge.store.rooms import Rooms

ROOMS_OF_USED_IDS = ("requests", "processing", "responses", "done")


def submit(rooms: Rooms, request: Request) -> Submitted:
    """Write the request down; durable on return.

    Raises:
        InvalidRequest: the id was used before, or a field has no JSON form.
    """
    file = file_of(request.request_id)
    requests = rooms["requests"]
    # What takes time is done before the lock is taken; not in the queue's folder, whose
    # time tells whether another program has put something there.
    temporary = rooms.state.prepare(file, _json(request))
    try:
        with rooms.hold():
            earlier = _find_same(rooms, request)
            if earlier is not None:
                return Submitted(earlier, is_new=False)
            if any(rooms[room].has(file) for room in ROOMS_OF_USED_IDS):
                raise _used(request)
            _remember_key(rooms, request)
            try:
                with adding(rooms, request):
                    requests.publish(temporary, file, prepared_in=rooms.state)
            except FileExistsError:
                raise _used(request) from None
            temporary = ""
            rooms.note(
                "submitted",
                request.request_id,
                agent=request.agent_type,
                by=request.requester,
            )
    finally:
        if temporary:
            with suppress(OSError):
                rooms.state.remove(temporary)
    requests.sync()
    return Submitted(RequestId(request.request_id), is_new=True)


def _json(request: Request) -> bytes:
    try:
        return request.to_json()
    except ValueError as exc:
        raise InvalidRequest(
            f"the request {exc}", request_id=request.request_id
        ) from None


def _used(request: Request) -> InvalidRequest:
    return InvalidRequest(
        f"request id {request.request_id!r} was used before",
        request_id=request.request_id,
    )


# Dedup keys: dedup/<digest of the key>.json names the newest request with that key. It
# is written before the request, so that a kill between leaves a name without a request,
# which counts for nothing.


def answer_of_key(rooms: Rooms, dedup_key: str) -> Response | None:
    """The answer that a dedup key stands for; None where it would be asked."""
    known = known_request(rooms, key_name(dedup_key), dedup_key)
    found = look(rooms, known) if known else None
    return found.response if found and _is_answered(found) else None


def _is_answered(found: Found) -> bool:
    if found.response is None:
        return False
    error = found.response.error
    return error is None or error.code in ANSWERED


def _find_same(rooms: Rooms, request: Request) -> RequestId | None:
    """The running or answered request with the same dedup key.

    One that ended without an answer does not count: asking again must be possible. Nor
    does one that is overdue, which nobody has ended yet.
    """
    if request.dedup_key is None:
        return None
    known = known_request(rooms, key_name(request.dedup_key), request.dedup_key)
    found = look(rooms, known) if known else None
    if found is None:
        return None
    if found.response is None:
        is_late = found.request and rooms.now_ms() >= found.request.deadline_ms
        return None if is_late else known
    return known if _is_answered(found) else None


def known_request(
    rooms: Rooms, file: str, dedup_key: str | None = None
) -> RequestId | None:
    """The id that a dedup file names; None when it says nothing (of the key)."""
    try:
        known = orjson.loads(rooms["dedup"].read(file) or b"null")
    except (orjson.JSONDecodeError, NotAPlainFile):
        return None
    named = known.get("requestId") if isinstance(known, dict) else None
    if not isinstance(named, str) or not is_id(named):
        return None
    if dedup_key is not None and known.get("dedupKey") != dedup_key:
        return None
    return RequestId(named)


def _remember_key(rooms: Rooms, request: Request) -> None:
    if request.dedup_key is None:
        return
    known = {"dedupKey": request.dedup_key, "requestId": request.request_id}
    file = key_name(request.dedup_key)
    try:
        rooms["dedup"].replace(file, orjson.dumps(known) + b"\n")
    except IsADirectoryError:
        rooms.make_way("dedup", file)
        rooms["dedup"].replace(file, orjson.dumps(known) + b"\n")


def key_name(dedup_key: str) -> str:
    """The file name of a dedup key."""
    return hashlib.sha256(dedup_key.encode()).hexdigest() + ".json"
