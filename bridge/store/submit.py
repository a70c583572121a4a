"""Submit: make a request durable and visible, whole, once.

    dedup/<digest of the key>.json    names the newest request with that key
    held            an empty file in the state directory: some requests are held
    askers/*.json   by the digest of an asker: the ids of its requests, at most as many
                    as the limit, so that a long queue need not be read at each submit

The same dedup key stands for the same question, asked once. Its file is written before
the request, so that a kill in between leaves a key without a request, which is ignored.
A request that another program wrote is checked when it is claimed.

Whoever asks for more agents at once than a limit waits for a person's yes. One of the
same asker's requests is one too many if so many of them wait or run already. It is
marked (`held`, with the limit), and stays marked when others end: only `hostbridge
approve` frees it. Requests of one agent, of one rule, of one session, or of programs of
one name have one asker. Below a session the environment names nobody else.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress

from bridge.errors import InvalidRequest
from bridge.protocol import plain_json
from bridge.protocol.digest import sha256_of
from bridge.protocol.failure_codes import ANSWERED
from bridge.protocol.ids import RequestId, is_id
from bridge.protocol.record import json_object
from bridge.protocol.request import Request
from bridge.protocol.response import Response, failed
from bridge.store import Found, Submitted
from bridge.store.directory import NotAPlainFile
from bridge.store.queries import look
from bridge.store.state import State, file_of

FOLDERS_OF_IDS = ("requests", "processing", "responses", "done")
_SIGN = "held"
_PID = re.compile(r" \(pid \d+\)$")
_ASKERS = "askers"
_MAX_LISTED = 500


def is_submitted(state: State, request_id: str) -> bool:
    """Whether a request of this id was ever made, and is not forgotten."""
    file = file_of(request_id)
    return any(state[folder].has(file) for folder in FOLDERS_OF_IDS)


def submit(
    state: State,
    request: Request,
    *,
    routes: Collection[str] = (),
    fan_out: int | None = None,
) -> Submitted:
    """Make a request durable and visible, whole.

    If its dedup key stands for another request that asks the same, that one is
    returned. `routes` are those whose answer is acceptable, by default the request's
    own. With `fan_out`, one more at once than so many of its asker is held.

    Raises:
        InvalidRequest: the id was used before, its key stands for another question, or
            a field has no JSON form.
    """
    file = file_of(request.request_id)
    request = _traced(state, request)
    requests = state["requests"]
    # Done before the lock is taken, because it takes time.
    temporary = requests.prepare(file, _json(request))
    try:
        with state.hold():
            earlier = find_same(state, request, routes)
            if earlier is not None and earlier.request is not None:
                known = RequestId(earlier.request.request_id)
                return Submitted(known, is_new=False)
            if is_submitted(state, request.request_id):
                raise _used(request)
            remember_key(state, request)
            if fan_out is not None and is_surplus(state, request, fan_out):
                requests.remove(temporary)
                request = request.with_(held=fan_out)
                temporary = requests.prepare(file, _json(request))
                mark_held(state)
            try:
                requests.publish(temporary, file)
            except FileExistsError:
                raise _used(request) from None
            temporary = ""
            state.note(
                "submitted",
                request.request_id,
                agent=request.agent_type,
                by=request.requester,
                parent=request.parent_request_id,
                traceparent=request.traceparent,
            )
    finally:
        if temporary:
            with suppress(OSError):
                requests.remove(temporary)
    requests.sync()
    return Submitted(RequestId(request.request_id), is_new=True)


def _traced(state: State, request: Request) -> Request:
    """The request, in the trace of the one whose agent made it."""
    parent = request.parent_request_id
    if parent is None or request.traceparent is not None or not is_id(parent):
        return request
    from bridge.protocol.trace_context import handed_on

    made_it = state.live(parent) or state.ended(parent)
    given = made_it and handed_on(made_it.traceparent, parent)
    return request.with_(traceparent=given) if given else request


def _json(request: Request) -> bytes:
    try:
        return request.with_defaults().to_json()
    except ValueError as exc:
        raise InvalidRequest(
            f"the request {exc}", request_id=request.request_id
        ) from None


def _used(request: Request) -> InvalidRequest:
    return InvalidRequest(
        f"request id {request.request_id!r} was used before; choose another, or none",
        request_id=request.request_id,
    )


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
    from bridge.protocol.dedup import differences

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


def is_surplus(state: State, request: Request, most: int) -> bool:
    """Whether its asker has so many waiting or running already; if not, count it.

    The lock is held, and the request is published next: an id that never was is no
    live request.
    """
    if request.route != "host":
        return False
    file = f"{sha256_of(repr(_asker(request)).encode())}.json"
    live = _live(state, file)
    if len(live) >= most:
        return True
    data = plain_json.dumps([*live, request.request_id])
    # A list that is lost counts nobody, which costs less than a wait for the disk.
    state[_ASKERS].replace_unsynced(file, data)
    return False


def forget_ended(state: State) -> None:
    """Remove the lists of askers none of whose requests waits or runs. Locks."""
    for name in state[_ASKERS].names():
        with state.hold_in_turns():
            if not _live(state, f"{name}.json"):
                state[_ASKERS].remove(f"{name}.json")


def _live(state: State, file: str) -> list[str]:
    """Those in an asker's list that wait or run; a damaged list is empty."""
    try:
        ids = plain_json.loads(state[_ASKERS].read(file) or b"[]")
    except (NotAPlainFile, plain_json.JSONDecodeError):
        return []
    return [
        each
        for each in (ids if isinstance(ids, list) else [])
        if is_id(each)
        and any(state[f].has(file_of(each)) for f in ("requests", "processing"))
    ]


def _asker(request: Request) -> tuple[str | None, ...]:
    if request.asker is not None:
        return (f"session {request.asker}",)
    if request.parent_request_id is not None:
        return (request.parent_request_id,)
    # Each command of a loop has a shell of its own.
    return _PID.sub("", request.requester or ""), request.session


def mark_held(state: State) -> None:
    """Note that a request is held."""
    state.directory.touch(_SIGN)


def sign_of(state: State) -> str:
    """Names the time since which requests are held; empty if none is."""
    facts = state.directory.facts(_SIGN)
    return f"held {facts.st_mtime_ns}" if facts else ""


def held_requests(state: State) -> list[Request]:
    """The first requests that are held."""
    return list(_held(state))


def _held(state: State) -> Iterator[Request]:
    left = _MAX_LISTED
    for name in sorted(state.ids("requests")) if sign_of(state) else ():
        request = state.find_waiting(name)
        if request is not None and request.held is not None:
            yield request
            left -= 1
        if not left:
            return


def approve(state: State, ids: Iterable[RequestId]) -> int:
    """Free held requests, and let the agents of running ones start more; how many.

    The lock is held.
    """
    freed = sum(_approve(state, request_id) for request_id in ids)
    if not held_requests(state):
        forget_held(state)
    # Sessions have passed them over: they look again.
    sessions = state["sessions"]
    for name in sessions.names(".passed"):
        sessions.remove(f"{name}.passed")
    return freed


def _approve(state: State, request_id: RequestId) -> bool:
    for folder, request in (
        ("requests", state.find_waiting(request_id)),
        ("processing", state.find_claimed(request_id)),
    ):
        if request is None or request.approved:
            continue
        if folder == "processing" or request.held is not None:
            now = request.with_(held=None, approved=True)
            state[folder].replace(file_of(request_id), now.to_json())
            state.note("approved", request_id)
            return True
    return False


def forget_held(state: State) -> None:
    """No request is held any more."""
    state.directory.remove(_SIGN)
