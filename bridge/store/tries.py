"""A try has failed: its request waits for the next one, or ends."""

from collections.abc import Callable

from bridge.protocol.request import Claim, Request
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

    `is_mine` says whether a claim is the one under which the try was made. Returns the
    request if it waits again. The agent's words are kept: as evidence if so.
    """
    try:
        with state.hold():
            after = _after(state, response, is_mine)
            if isinstance(after, Request):
                code = after.failures[-1].code
                if response.raw_output.strip():
                    keep_evidence(
                        state,
                        after.request_id,
                        reason=f"{code}; it is tried again",
                        source=source,
                        words=response.raw_output,
                    )
                wait_again(state, after, code=code)
                return after
    except LockBusy:
        # The failure must not be lost to a lock: it is published without one.
        after = response
    publish(state, after, source=source)
    return None


def _after(
    state: State, response: Response, is_mine: Callable[[Claim], bool]
) -> Request | Response:
    request = state.claimed(response.request_id)
    if not is_of(request, response) or state.is_answered(response.request_id):
        return response
    if request.claim is None or not is_mine(request.claim):
        return response
    # Late, as every hook imports this module.
    from bridge.protocol.retries import after_failure

    return after_failure(request, response, state.now_ms())
