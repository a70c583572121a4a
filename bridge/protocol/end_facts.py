"""What a line of the journal says of a request that has ended, for metrics. Pure.

Texts are short, and on one line: a model has whatever name a program gave it.
"""

from typing import Any

from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.protocol.wording import one_line

_MOST = 128


def facts_of_end(request: Request, response: Response) -> dict[str, Any]:
    """The facts, by their names in the journal; None for what there is nothing to say.

    `waitMs` is from the question to the moment at which the agent began that was the
    last; without one there is none. `verified` is of a success of which it can be
    told. `usage` is that of the response.
    """
    claim, error, usage = request.claim, response.error, response.usage
    return {
        "code": error.code if error else None,
        "agent": request.agent_type,
        "route": response.route,
        "model": _short(response.model),
        "durationMs": response.duration,
        "waitMs": _waited_ms(request, response),
        "retries": request.attempt or None,
        "corrections": claim.corrections or None if claim else None,
        "verified": _is_verified(response),
        "degraded": response.degraded or None,
        "task": _short(response.task_id),
        "usage": usage.to_data() if usage else None,
    }


def _short(text: str | None) -> str | None:
    return one_line(text, _MOST) if text else None


def _waited_ms(request: Request, response: Response) -> int | None:
    began_ms = request.claim.launched_at if request.claim else None
    if began_ms is None:
        return None
    # However the clock was set meanwhile.
    return min(max(0, began_ms - request.asked_ms), response.duration)


def _is_verified(response: Response) -> bool | None:
    """Whether a success rests on evidence; None where an answer alone cannot tell."""
    if not response.success or (response.own_form and response.run is None):
        return None
    # Whoever answers has loaded it; nobody else does.
    from bridge.protocol.claimed_commands import rests_on_evidence

    try:
        return rests_on_evidence(response)
    except ValueError:
        # A hand-written answer may be of any form.
        return None
