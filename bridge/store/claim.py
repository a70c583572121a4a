"""Claim: a request gets one holder, who may change the claim or give the request back.

A try that failed waits for the next one, or ends its request. `claim_next` chooses
among those that wait.

All of it happens under the store's lock; the rename from `requests/` to `processing/`
is what takes a request, and the record in `processing/` says who holds it.

Whether that process is gone the kernel says, if it can be seen. A process in another
PID namespace (a container) cannot be seen from here: it counts as alive for `lease_s`
seconds after its last heartbeat. Its hooks touch `sessions/<id>.beat`; the times in the
claim itself count as well. Setting the wall clock forward ends such a lease early;
setting it back ends it late.
"""

from collections.abc import Callable
from contextlib import suppress

from bridge.errors import NewerSchema
from bridge.protocol.claim import Claim, HostProcess
from bridge.protocol.ids import RequestId
from bridge.protocol.question import asks_words
from bridge.protocol.record import json_object
from bridge.protocol.request import Request
from bridge.protocol.response import Response, failed
from bridge.protocol.status import Stage, Status, move
from bridge.protocol.wording import seconds
from bridge.store import Claimant
from bridge.store.directory import Folder, NotAPlainFile
from bridge.store.host_process import Liveness, liveness
from bridge.store.lock import LockBusy
from bridge.store.responses import finish, is_of, keep_evidence, publish
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


def fate_of_claimed(
    request: Request, *, host_is_gone: bool, now_ms: int
) -> Request | Response | None:
    """What a request in `processing/` becomes: it waits again, ends, or is left."""
    if request.claim is None:
        # The claimer died after the rename and before it wrote its claim.
        return request
    if now_ms >= request.deadline_ms:
        return expired(request, now_ms)
    return _lost(request, now_ms) if host_is_gone else None


def _lost(request: Request, now_ms: int) -> Request | Response:
    """The host that held the request is gone: another attempt, or a named failure."""
    served_here = request.claim is not None and request.claim.route != "host"
    holder = "process that served" if served_here else "session that held"
    message = (
        f"the {holder} the request is gone, and {request.max_attempts} attempts were "
        "used up"
    )
    # Late, as every hook imports this module.
    from bridge.protocol.retries import after_failure

    response = failed(request, "host_gone", message, now_ms=now_ms)
    return after_failure(request, response, now_ms)


def expired(
    request: Request, now_ms: int, stage: Stage | None = None, why: str = ""
) -> Response:
    """The response of a request whose deadline has passed: it ended then.

    `now_ms` is when somebody noticed, which may be much later. `stage` is how far it
    got, if the caller knows better than the record, and `why` it got no further.
    """
    ended_ms = min(now_ms, request.deadline_ms)
    stage = stage or request.stage
    allowed = seconds(request.timeout / 1000)
    if not why and request.asks is not None:
        why = asks_words(request.asks)
    elif not why and (request.failures or request.not_before is not None):
        from bridge.protocol.retries import late_words

        why = late_words(request, now_ms)
    message = f"no answer within {allowed}: {stage.at_the_end}{why and f'; {why}'}"
    return failed(request, "timeout", message, now_ms=ended_ms, stage=stage)


def end_try(
    state: State,
    response: Response,
    *,
    is_mine: Callable[[Claim], bool],
    source: str,
) -> Request | None:
    """End a try by this failure, and its request unless it may be tried again.

    `is_mine` says whether a claim is the one under which the try was made: a request
    that somebody else has by now is left as it is. Returns the request if it waits
    again; what its agent said is kept as evidence then.
    """
    try:
        with state.hold():
            request = state.live(response.request_id)
            if is_of(request, response) and not state.is_answered(request.request_id):
                return _end_live(state, request, response, is_mine, source)
    except LockBusy:
        # A failure must not be lost to a lock: without one it ends the request.
        pass
    publish(state, response, source=source)
    return None


def _end_live(
    state: State,
    request: Request,
    response: Response,
    is_mine: Callable[[Claim], bool],
    source: str,
) -> Request | None:
    code = response.error.code if response.error else ""
    if request.claim is None or not is_mine(request.claim):
        _keep(state, response, f"{code}, but somebody else has the request now", source)
        return None
    # Late, as every hook imports this module.
    from bridge.protocol.retries import after_failure

    after = after_failure(request, response, state.now_ms())
    if isinstance(after, Response):
        publish(state, after, source=source)
        return None
    _keep(state, response, f"{code}; it is tried again", source)
    wait_again(state, after, code=code)
    return after


def _keep(state: State, response: Response, reason: str, source: str) -> None:
    words = response.raw_output
    if words.strip():
        keep_evidence(
            state, response.request_id, reason=reason, source=source, words=words
        )


def host_is_gone(
    state: State, session: str, host: HostProcess, *, sign_ms: int = 0
) -> bool:
    """Whether `host` is gone; at `sign_ms` it was known to be alive."""
    seen = liveness(host)
    if seen is not Liveness.UNSEEN:
        return seen is Liveness.GONE
    last_s = max(sign_ms / 1000, _last_beat_s(state, session, host))
    return state.clock.now_us() / 1_000_000 - last_s > state.lease_s


def claimer_is_gone(state: State, claim: Claim) -> bool:
    """Whether the process that made this claim is gone."""
    sign_ms = max(claim.at, *claim.offers, claim.launched_at or 0)
    return host_is_gone(state, claim.session, claim.host, sign_ms=sign_ms)


def is_abandoned(claim: Claim | None) -> bool:
    """Whether the process that made a claim is known to be gone, whatever its lease."""
    return claim is not None and liveness(claim.host) is Liveness.GONE


def _last_beat_s(state: State, session: str, host: HostProcess) -> float:
    """When a session of this process last touched its heartbeat; 0 for never.

    `/clear` gives the process another session id and removes the files of the old one.
    """
    sessions = state["sessions"]
    names = {session} | {n for n in sessions.names() if _is_of(sessions, n, host)}
    facts = [sessions.facts(f"{name}.beat") for name in names]
    return max((beat.st_mtime for beat in facts if beat), default=0.0)


def _is_of(sessions: Folder, name: str, host: HostProcess) -> bool:
    with suppress(NotAPlainFile):
        found = json_object(sessions.read(f"{name}.json")).get("host")
        return bool(found == host.to_data())
    return False
