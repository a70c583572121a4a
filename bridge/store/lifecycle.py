"""What should become of a request that somebody holds: one table of cases. Pure."""

from bridge.protocol.question import asks_words
from bridge.protocol.request import Request
from bridge.protocol.response import Response, failed
from bridge.protocol.status import Stage
from bridge.protocol.wording import seconds


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
