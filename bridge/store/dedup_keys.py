"""Dedup keys: the same key stands for the same question, asked once.

    dedup/<digest of the key>.json    names the newest request with that key

The file is written before the request, so that a kill in between leaves a key without a
request, which is ignored. A request that another program wrote is checked when it is
claimed.
"""

from collections.abc import Collection

from bridge.errors import InvalidRequest
from bridge.protocol import plain_json
from bridge.protocol.dedup import differences
from bridge.protocol.digest import sha256_of
from bridge.protocol.failure_codes import ANSWERED
from bridge.protocol.ids import RequestId, is_id
from bridge.protocol.record import json_object
from bridge.protocol.request import Request
from bridge.protocol.response import Response, failed
from bridge.store import Found
from bridge.store.directory import NotAPlainFile
from bridge.store.queries import look
from bridge.store.state import State


def find_same(
    state: State, request: Request, routes: Collection[str] = ()
) -> Found | None:
    """The running or answered request that the key of `request` stands for.

    A request that ended without an answer does not count: asking again must be
    possible. Nor does an overdue one that nobody has ended yet, nor one of which only
    the answer is left: nothing says what was asked.

    Raises:
        InvalidRequest: it asks something else; the message names it and what differs.
    """
    found = _stands_for(state, request)
    if found is None:
        return None
    assert found.request is not None  # noqa: S101 - `_stands_for`
    by = found.response.route if found.response else ""
    if by in ("manual", "none"):
        # An answer by hand answers the question, whichever route it asked for.
        by = request.route
    different = differences(request, found.request, routes=routes, by=by)
    if not different:
        return found
    other = found.request.request_id
    raise InvalidRequest(
        f"the dedup key {request.dedup_key!r} belongs to request {other}, which asked "
        f"something else; it differs in: {', '.join(different)}. Use another key, or "
        f"see that request with: hostbridge show {other}",
        request_id=other,
    )


def answer_of_key(
    state: State, request: Request, *, routes: Collection[str] = ()
) -> Response | None:
    """The answer that the key of `request` stands for; None if there is none.

    `routes` as in `submit`.

    Raises:
        InvalidRequest: the key stands for another question.
    """
    found = find_same(state, request, routes)
    return found.response if found else None


def claim_key(state: State, request: Request) -> Response | None:
    """Let a waiting request's key stand for it; if it cannot, how the request ends.

    Requests made by `submit` have their key already. The lock is held.
    """
    key = request.dedup_key
    if key is None or known_request(state, key_name(key), key) == request.request_id:
        return None
    try:
        found = find_same(state, request)
    except InvalidRequest as exc:
        return failed(request, "bad_request", str(exc), now_ms=state.now_ms())
    if found is None:
        remember_key(state, request)
        return None
    assert found.request is not None  # noqa: S101 - `find_same`
    other = found.request.request_id
    message = (
        f"the dedup key {key!r} belongs to request {other}, which asks the same: its "
        f"answer is this one's, too; see it with: hostbridge show {other}"
    )
    return failed(request, "bad_request", message, now_ms=state.now_ms())


def _stands_for(state: State, request: Request) -> Found | None:
    key = request.dedup_key
    known = known_request(state, key_name(key), key) if key is not None else None
    found = look(state, known) if known else None
    if found is None or found.request is None:
        return None
    if found.response is None:
        return None if state.now_ms() >= found.request.deadline_ms else found
    error = found.response.error
    return found if error is None or error.code in ANSWERED else None


def known_request(
    state: State, file: str, dedup_key: str | None = None, *, folder: str = "dedup"
) -> RequestId | None:
    """The id that a dedup file names; None if it names none, or has another key.

    In another `folder`, files that name a request in the same way.
    """
    try:
        known = json_object(state[folder].read(file))
    except NotAPlainFile:
        return None
    named = known.get("requestId")
    if not isinstance(named, str) or not is_id(named):
        return None
    if dedup_key is not None and known.get("dedupKey") != dedup_key:
        return None
    return RequestId(named)


def remember_key(state: State, request: Request) -> None:
    """Let the key of a request, if it has one, stand for it."""
    if request.dedup_key is None:
        return
    known = {"dedupKey": request.dedup_key, "requestId": request.request_id}
    file = key_name(request.dedup_key)
    try:
        state["dedup"].replace(file, plain_json.dumps(known) + b"\n")
    except IsADirectoryError:
        state.make_way("dedup", file)
        state["dedup"].replace(file, plain_json.dumps(known) + b"\n")


def key_name(dedup_key: str) -> str:
    """The file name of a dedup key."""
    return sha256_of(dedup_key.encode("utf-8", "surrogatepass")) + ".json"
