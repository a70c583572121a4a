"""Claim: a request gets one holder, who may change the claim or give the request back.

`claim_next` chooses among those that wait.

All of it happens under the store's lock; the rename from `requests/` to `processing/`
is what takes a request, and the record in `processing/` says who holds it.
"""

from collections.abc import Callable
from contextlib import suppress

from bridge.errors import NewerSchema
from bridge.protocol.claim import Claim, HostProcess
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.protocol.status import Status, move
from bridge.store import Claimant
from bridge.store.responses import finish
from bridge.store.state import USED, State, file_of


def is_over(state: State, request_id: str) -> bool:
    """Remove from `requests/` what was answered, claimed or ended under this id."""
    # The name was listed, so it is not a path.
    file = f"{request_id}.json"
    try:
        response = state.response(request_id)
    except NewerSchema:
        state.unread[request_id] = "newer"
        return True
    if response is not None:
        finish(state, request_id, response)
        return True
    if state["processing"].has(file) or state["done"].has(file):
        state.put_aside("requests", file, USED)
        return True
    return False


def take(state: State, request: Request, claimant: Claimant) -> Request | None:
    """Claim one request; None when the file has just gone away."""
    now_ms = state.now_ms()
    file = file_of(request.request_id)
    requests, processing = state["requests"], state["processing"]
    mine = request.from_(None).with_(
        status=move(request.status, Status.PROCESSING),
        claim=_claim_of(claimant, now_ms).with_(told=len(request.exchanges)),
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
    state.note(
        "claimed",
        request.request_id,
        session=claimant.session,
        pid=claimant.host.pid,
        attempt=request.attempt or None,
    )
    return mine


def _claim_of(claimant: Claimant, now_ms: int) -> Claim:
    """An offer to a host's model; on other routes work begins with the claim."""
    session, host, route = claimant.session, claimant.host, claimant.route
    claim = Claim(session=session, host=host, at=now_ms, route=route)
    if claimant.route == "host":
        return claim.with_(offers=(now_ms,))
    return claim.with_(launched_at=now_ms)


def change_held(
    state: State,
    request_id: RequestId,
    host: HostProcess,
    change: Callable[[Request], Request],
    *,
    event: str | None = None,
) -> Request | None:
    """Change the request that `host` holds; None if `host` no longer holds it.

    `event` names the change in the journal. If `change` returns the request itself,
    nothing is written or noted.
    """
    request = _held(state, request_id, host)
    changed = change(request) if request else None
    if changed is None or changed is request:
        return changed
    state["processing"].replace(file_of(request_id), changed.to_json(), durable=False)
    if event:
        state.note(event, request_id)
    return changed


def change_claim(
    state: State,
    request_id: RequestId,
    host: HostProcess,
    change: Callable[[Claim], Claim],
    *,
    event: str | None = None,
) -> Request | None:
    """As `change_held`, for the claim alone."""

    def changed(held: Request) -> Request:
        return held.with_(claim=change(held.claim)) if held.claim else held

    return change_held(state, request_id, host, changed, event=event)


def give_back(
    state: State,
    request_id: RequestId,
    host: HostProcess,
    change: Callable[[Request], Request] = lambda held: held,
) -> bool:
    """Let a request that `host` holds wait again; False if it does not hold it."""
    request = _held(state, request_id, host)
    if request is None:
        return False
    wait_again(state, change(request))
    return True


def _held(state: State, request_id: RequestId, host: HostProcess) -> Request | None:
    """The unfinished request that `host` holds."""
    if state.is_answered(request_id):
        return None
    request = state.find_claimed(request_id)
    claim = request.claim if request else None
    return request if claim and claim.host == host else None


def wait_again(state: State, request: Request, *, code: str | None = None) -> None:
    """Return to waiting: the record first, so that a kill leaves no claim.

    `code` is why the try before failed.
    """
    file = file_of(request.request_id)
    processing = state["processing"]
    free = request.with_(claim=None, status=Status.PENDING)
    if request.claim is not None:
        processing.replace(file, free.to_json(), durable=False)
    state.make_way("requests", file)
    processing.move(file, state["requests"])
    state.note(
        "waiting again",
        request.request_id,
        attempt=request.attempt or None,
        code=code,
        notBefore=request.due_ms,
    )
