"""What a line of the journal says about the end of a request, for metrics. Pure.

Texts are cut short, on one line: programs may name a model anything.
"""

from typing import Any

from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.protocol.wording import one_line

_MOST = 128


def facts_of_end(request: Request, response: Response) -> dict[str, Any]:
    """The facts, by their names in the journal; None for an unknown one.

    `waitMs` is the time from the question to the start of the last agent. `verified` is
    only known for a success in the default form, or with a record of the run. `usage`
    is the response's.
    """
    claim, error, usage = request.claim, response.error, response.usage
    return {
        "code": error.code if error else None,
        "agent": request.agent_type,
        "route": response.route,
        "model": _short(response.model),
        "machine": _short(response.served_by.machine) if response.served_by else None,
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
    # The clock may have been set meanwhile.
    return min(max(0, began_ms - request.asked_ms), response.duration)


def _is_verified(response: Response) -> bool | None:
    """Whether a success rests on evidence; None where an answer alone cannot tell."""
    if not response.success or (response.own_form and response.run is None):
        return None
    # Late: a process that records an answer has loaded it already.
    from bridge.protocol.claimed_commands import rests_on_evidence

    try:
        return rests_on_evidence(response)
    except ValueError:
        # A hand-written answer may be of any form.
        return None
