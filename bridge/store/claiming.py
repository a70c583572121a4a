"""Claim: a request gets one holder, who may change the claim or give the request back.

All of it happens under the store's lock; the rename from `requests/` to `processing/`
is what takes a request, and the record in `processing/` says who holds it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.errors import NewerSchema
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Claim
from bridge.protocol.response import Response
from bridge.protocol.status import Status, move
from bridge.store.backlog import Backlog, forget
from bridge.store.decide import expired
from bridge.store.ending import end, finish
from bridge.store.looking import all_claimed
from bridge.store.rooms import USED, file_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bridge.protocol.request import HostProcess, Request
    from bridge.store import Claimant, Verdict
    from bridge.store.rooms import Rooms

# A hook's time is bounded: how many overdue requests one claim ends on its way,
_MAX_ENDED = 16
# how many it looks at that are not for this claimant,
_MAX_LEFT = 512
# and, with all slots taken, how far it looks for requests of agents beyond those of
# high priority, among which they are.
_MAX_PASSED = 16


def claim(
    rooms: Rooms,
    claimant: Claimant,
    slots: int,
    judge: Callable[[Request], Verdict],
) -> list[Request]:
    """Take what `judge` says to take, into the claimant's slots; the lock is held."""
    backlog = Backlog(rooms)
    held = sum(
        r.claim is not None and r.claim.host == claimant.host
        for r in all_claimed(rooms)
    )
    taken: list[Request] = []
    stay: list[RequestId] = []
    ended = passed = 0
    for request in _candidates(rooms, backlog):
        has_slot = held + len(taken) < slots * (1 + request.depth)
        verdict = _judged(rooms, request, judge, has_slot=has_slot)
        if isinstance(verdict, Response):
            end(rooms, request, verdict, source="claim")
            ended += 1
        elif verdict == "leave":
            stay.append(RequestId(request.request_id))
            passed += not has_slot and request.priority != "high"
        elif not _try_to_take(rooms, request, claimant, taken):
            break
        if ended >= _MAX_ENDED or passed >= _MAX_PASSED or len(stay) >= _MAX_LEFT:
            break
    backlog.remember(stay)
    return taken


def claim_one(
    rooms: Rooms, request_id: RequestId, claimant: Claimant
) -> Request | None:
    """Take this very request; None when it does not wait (any more)."""
    request = next(_candidates(rooms, [request_id]), None)
    if request is None:
        return None
    now_ms = rooms.now_ms()
    if now_ms >= request.deadline_ms:
        end(rooms, request, expired(request, now_ms), source="claim")
        return None
    return _take(rooms, request, claimant)


def _candidates(rooms: Rooms, ids: Iterable[RequestId]) -> Iterator[Request]:
    for request_id in ids:
        if not is_over(rooms, request_id):
            request = rooms.waiting(request_id)
            if request is not None:
                yield request


def _judged(
    rooms: Rooms,
    request: Request,
    judge: Callable[[Request], Verdict],
    *,
    has_slot: bool,
) -> Verdict:
    now_ms = rooms.now_ms()
    if now_ms >= request.deadline_ms:
        return expired(request, now_ms)
    return judge(request) if has_slot else "leave"


def is_over(rooms: Rooms, request_id: str) -> bool:
    """Tidy up in `requests/` what has been answered, claimed or ended under this id."""
    # Whatever the name is, it was listed: it is not a path.
    file = f"{request_id}.json"
    try:
        response = rooms.response(request_id)
    except NewerSchema:
        return True
    if response is not None:
        finish(rooms, request_id, response)
        return True
    if rooms["processing"].has(file) or rooms["done"].has(file):
        rooms.put_aside("requests", file, USED)
        return True
    return False


def _try_to_take(
    rooms: Rooms, request: Request, claimant: Claimant, taken: list[Request]
) -> bool:
    """Add the request to `taken`; False when no more can be taken now."""
    try:
        mine = _take(rooms, request, claimant)
    except OSError:
        # A disk just full, say. What was taken before is the claimant's.
        if taken:
            return False
        raise
    if mine is not None:
        taken.append(mine)
    return True


def _take(rooms: Rooms, request: Request, claimant: Claimant) -> Request | None:
    """Claim one request; None when the file has just gone away."""
    now_ms = rooms.now_ms()
    file = file_of(request.request_id)
    requests, processing = rooms["requests"], rooms["processing"]
    mine = request.with_(
        status=move(request.status, Status.PROCESSING),
        claim=_claim_of(claimant, now_ms),
    )
    # Written before the request is taken: a full disk leaves it where it was.
    temporary = processing.prepare(file, mine.to_json())
    try:
        requests.move(file, processing)
    except OSError as exc:
        with suppress(OSError):
            processing.remove(temporary)
        if isinstance(exc, FileNotFoundError):
            return None
        raise
    processing.rename(temporary, file)
    rooms.note(
        "claimed",
        request.request_id,
        session=claimant.session,
        pid=claimant.host.pid,
        attempt=request.attempt or None,
    )
    return mine


def _claim_of(claimant: Claimant, now_ms: int) -> Claim:
    """An offer to a host's model; on other routes the work begins with the claim."""
    claim = Claim(
        session=claimant.session,
        host=claimant.host,
        at=now_ms,
        route=claimant.route,
    )
    if claimant.route == "host":
        return claim.model_copy(update={"offers": (now_ms,)})
    return claim.model_copy(update={"launched_at": now_ms})


def change_held(
    rooms: Rooms,
    request_id: RequestId,
    host: HostProcess,
    change: Callable[[Request], Request],
    *,
    event: str | None = None,
) -> Request | None:
    """Change the request that `host` holds; None when it holds it not (any more)."""
    request = _held(rooms, request_id, host)
    if request is None:
        return None
    changed = change(request)
    rooms["processing"].replace(file_of(request_id), changed.to_json(), durable=False)
    if event:
        rooms.note(event, request_id)
    return changed


def give_back(
    rooms: Rooms,
    request_id: RequestId,
    host: HostProcess,
    change: Callable[[Request], Request],
) -> bool:
    """Let a request that `host` holds wait again; False when it holds it no more."""
    request = _held(rooms, request_id, host)
    if request is None:
        return False
    wait_again(rooms, change(request))
    return True


def _held(rooms: Rooms, request_id: RequestId, host: HostProcess) -> Request | None:
    """The unfinished request that `host` holds."""
    if rooms.is_answered(request_id):
        return None
    request = rooms.claimed(request_id)
    claim = request.claim if request else None
    return request if claim and claim.host == host else None


def wait_again(rooms: Rooms, request: Request) -> None:
    """Back to waiting: the record first, so that a kill between leaves no claim."""
    file = file_of(request.request_id)
    processing = rooms["processing"]
    free = request.with_(claim=None, status=Status.PENDING)
    if request.claim is not None:
        processing.replace(file, free.to_json(), durable=False)
    rooms.make_way("requests", file)
    forget(rooms)
    processing.move(file, rooms["requests"])
    rooms.note("waiting again", request.request_id, attempt=request.attempt or None)
