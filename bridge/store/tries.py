"""A try has failed: its request waits for the next one, or ends."""

from collections.abc import Callable

from bridge.protocol.claim import Claim
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.store.claim import wait_again
from bridge.store.lock import LockBusy
from bridge.store.responses import is_of, keep_evidence, publish
from bridge.store.state import State


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
