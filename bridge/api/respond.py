"""Answer a request by hand: a person answers in place of the agent.

The same code checks the form as for an agent's answer. A person need not show evidence:
`require_verified_evidence` does not apply, since nobody sees what a person runs. So no
evidence in such an answer is ever `verified`, and its route, `manual`, tells every
reader that a person answered.
"""

from typing import Any

from bridge.api.result import Result, result_of
from bridge.errors import InvalidRequest
from bridge.protocol.judge import Judgement, judge
from bridge.protocol.request import Request
from bridge.protocol.response import answered
from bridge.protocol.type_checks import check
from bridge.store import Found
from bridge.store.claim import is_abandoned
from bridge.store.store import Store


def respond(store: Store, found: Found, words: str) -> Result[Any]:
    """Publish `words` as the answer, marked `route: manual`.

    Raises:
        InvalidRequest: somebody works on it, it has ended, or this is not a valid
            answer.
    """
    check(words=words)
    request = _open_request(found)
    now_ms = store.now_ms()
    # A person who does not know asks the asker in another way.
    verdict = judge(request.with_(may_ask=False), words, now_ms=now_ms)
    if not verdict.is_valid:
        complaint = _complaint(request, verdict)
        raise InvalidRequest(
            f"not an answer to request {request.request_id}: {complaint}",
            request_id=request.request_id,
        )
    response = answered(
        request,
        raw=words,
        parsed=verdict.parsed,
        now_ms=now_ms,
        route="manual",
        failure=verdict.failure_at(request.stage),
    )
    if not store.publish(response, source="respond"):
        raise _ended(request.request_id)
    return result_of(response)


def _complaint(request: Request, verdict: Judgement) -> str:
    """The complaint, which is written for an agent, reworded for a person."""
    complaint = verdict.complaint.replace("the last message", "what you gave")
    form = (
        "`hostbridge schema agent-answer` prints its schema"
        if request.answer_schema is None
        else f"`hostbridge show --full {request.request_id}` shows its schema"
    )
    return f"{complaint}; expected one JSON value: {form}"


def _open_request(found: Found) -> Request:
    """The request, if it may be answered by hand."""
    request = found.request
    if request is None or found.response is not None:
        ended = found.response or request
        raise _ended(ended.request_id if ended else "")
    claim = request.claim
    if claim is not None and not is_abandoned(claim):
        who = f"an open session is working on request {request.request_id} (session "
        if claim.route != "host":
            who = f"request {request.request_id} is being served ("
        raise InvalidRequest(
            f"{who}{claim.session}, pid {claim.host.pid}); cancel it first, or wait",
            request_id=request.request_id,
        )
    return request


def _ended(request_id: str) -> InvalidRequest:
    return InvalidRequest(
        f"request {request_id} has ended; see `hostbridge show {request_id}`",
        request_id=request_id,
    )
