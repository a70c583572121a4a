"""How a request ended: the agent's words, the value in them, or a named failure."""

from typing import Annotated, Any, Literal

from bridge.errors import BridgeError
from bridge.protocol.agent_output import Evidence
from bridge.protocol.claim import Claim, Continued, RequestIdField
from bridge.protocol.failure_codes import ALIASES, NOW, FailureCode, SeedCode, ways_out
from bridge.protocol.record import Milliseconds, Record, printable
from bridge.protocol.request import Request
from bridge.protocol.status import Stage, Status
from bridge.protocol.usage import Usage
from bridge.protocol.value import Value
from bridge.routes import OwnRoute

Route = Literal["host", "manual", OwnRoute, "none"]

_STATUS_OF: dict[str, Status] = {
    "timeout": Status.TIMEOUT,
    "cancelled": Status.CANCELLED,
}


# An agent may say anything, but a record can only store valid Unicode.
Words = Annotated[str, printable]

# The prefix of a call in which a definition's own script checks the answer. The record
# keeps what ran in it, but it is no evidence for an answer that was there before.
CHECK = "submit-"


class RunSummary(Value):
    """What a run of our own loop took, for the record. Times are in milliseconds.

    `tools` counts the calls of each tool; `evidence` is what the loop itself saw run,
    whatever the form of the answer.
    """

    model: str
    turns: int
    tools: dict[str, int]
    prompt_tokens: int
    cached_tokens: int
    tokens: int
    duration: Milliseconds
    evidence: tuple[Evidence, ...] = ()

    @property
    def usage(self) -> Usage:
        """The same in the form of every route."""
        return Usage(
            input_tokens=max(0, self.prompt_tokens - self.cached_tokens),
            cache_read_tokens=self.cached_tokens,
            output_tokens=self.tokens,
            requests=self.turns,
        )


class ServedBy(Value):
    """Which machine answered over a queue: by which route and model, for which files.

    `project` is the first commit of its repository, or a name; `commit` is the last
    one there, and `is_dirty` says whether files differed from it. None: not known.
    """

    machine: Words
    route: Words
    model: Words | None = None
    project: Words = ""
    commit: Words | None = None
    is_dirty: bool | None = None


class Failure(Value):
    """Why a request failed, and at which stage.

    `message` is for people. `alias` is the code's name in the first description of
    hostbridge, which earlier records have as their code.
    """

    code: FailureCode
    message: Words
    stage: Stage
    alias: SeedCode | None = None

    @classmethod
    def _read(cls, value: Any) -> dict[str, Any]:
        if isinstance(value, dict) and (code := NOW.get(str(value.get("code")))):
            value = {**value, "code": code}
        found = super()._read(value)
        return found | {"alias": ALIASES.get(found["code"])}


class Response(Record):
    """The end of a request: written once, never changed.

    `completedAt` and `duration` (since `createdAt`) are in milliseconds. `seal` proves
    that hostbridge wrote the answer; see `store.records`. `requestDigest` identifies
    the request, as its id could be used again. `run` is set if our own loop answered.
    `usage` is what the agent and those below it took, where the route tells; on the
    host's, what it took after its answer is in the journal (`store.charges`). `model`
    wrote the answer, if that is known; otherwise it is the one asked for. With
    `ownForm` the caller or the definition gave the schema, so all of `parsedOutput` is
    the agent's own claim, even a key named `verified`. `taskId` is the asker's.
    `continued` is set if the agent had answered an earlier request, `servedBy` if
    another machine answered.
    """

    request_id: RequestIdField
    success: bool
    status: Status
    raw_output: Words = ""
    parsed_output: Any = None
    own_form: bool = False
    completed_at: Milliseconds
    duration: Milliseconds
    route: Route
    model: str | None = None
    degraded: bool = False
    error: Failure | None = None
    agent_id: str | None = None
    continued: Continued | None = None
    served_by: ServedBy | None = None
    task_id: str | None = None
    run: RunSummary | None = None
    usage: Usage | None = None
    request_digest: str = ""
    seal: str = ""

    def __repr__(self) -> str:
        """Without the proofs of its origin."""
        return Value.__repr__(self.with_(request_digest="", seal=""))


class RequestFailed(BridgeError):
    """The request ended without a valid answer.

    Attributes:
        response: the record of the end, with the agent's words if there were any.
    """

    __module__ = "bridge"

    def __init__(self, response: Response) -> None:
        failure = response.error
        assert failure is not None, "a failed response names its failure"  # noqa: S101
        super().__init__(
            f"request {response.request_id} failed: {failure.message}",
            ways=ways_out(
                failure.code, failure.stage, response.request_id, response.route
            ),
            stage=failure.stage,
            request_id=response.request_id,
        )
        self.code = failure.code
        self.response = response


def answered(
    request: Request,
    *,
    raw: str,
    parsed: Any,
    now_ms: int,
    route: Route,
    failure: Failure | None = None,
    agent_id: str | None = None,
) -> Response:
    """A response with a valid answer; `failure` when the answer itself reports one."""
    return _end(
        request,
        now_ms,
        success=failure is None,
        status=Status.COMPLETED,
        raw_output=raw,
        parsed_output=parsed,
        own_form=request.answer_schema is not None,
        route=route,
        error=failure,
        agent_id=agent_id,
    )


def failed(
    request: Request,
    code: FailureCode,
    message: str,
    *,
    now_ms: int,
    stage: Stage | None = None,
    raw: str = "",
) -> Response:
    """A response without a valid answer."""
    claim = request.claim
    return _end(
        request,
        now_ms,
        success=False,
        status=_STATUS_OF.get(code, Status.FAILED),
        raw_output=raw,
        route=claim.route if claim else "none",
        error=Failure(code=code, message=message, stage=stage or request.stage),
        agent_id=claim.agent_id if claim else None,
    )


def _continued(request: Request, claim: Claim) -> Continued | None:
    """The conversation that was continued; None if this request began it."""
    found = claim.continued
    return None if found and found.first == request.request_id else found


def _end(request: Request, now_ms: int, **fields: Any) -> Response:
    claim = request.claim
    is_asked = claim is not None and claim.launched_at is not None
    return Response(
        request_id=request.request_id,
        request_digest=request.digest,
        completed_at=now_ms,
        duration=max(0, now_ms - request.asked_ms),
        model=request.model,
        task_id=request.task_id,
        continued=None if claim is None or not is_asked else _continued(request, claim),
        **fields,
    )
