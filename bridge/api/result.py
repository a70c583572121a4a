"""What an ask returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from bridge.errors import InvalidRequest
from bridge.protocol.agent_output import AgentOutput, Evidence
from bridge.protocol.claimed_commands import rests_on_evidence
from bridge.protocol.record import first_problem
from bridge.protocol.response import Failure, RequestFailed
from bridge.protocol.status import Stage, Status
from bridge.protocol.value import Value

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

    from bridge.protocol.response import Response

# The form of an answer: a pydantic model, a JSON Schema, or None for AgentOutput.
Shape: TypeAlias = "type[BaseModel | Value] | dict[str, Any] | None"


@dataclass(frozen=True, slots=True)
class Result:
    """One answer.

    Attributes:
        request_id: the request it belongs to.
        success: a valid answer that reports neither failure nor being blocked.
        parsed: an instance of the pydantic model, decoded JSON if a JSON Schema was
            given, otherwise an `AgentOutput`; None without a valid answer.
        raw: the agent's answer, unchanged.
        route: which route gave it: host, manual, claude, local, endpoint.
        model: the model that answered, if known; on the host route the one asked for,
            None for the session's own.
        degraded: a small model answered, or not the one wanted; see `trusted`.
        task_id: the task id of the request; None if it had none.
        duration_s: seconds from the request to the answer.
        evidence: what an `AgentOutput` rests on, and whether it was verified; empty for
            an answer of any other form, which is the agent's claim throughout. On the
            routes local and endpoint, what was seen to run is in `response.run`,
            whatever the form.
        error: the failure, None if there is none.
        response: the whole record.
    """

    request_id: str
    success: bool
    parsed: Any
    raw: str
    route: str
    model: str | None
    degraded: bool
    task_id: str | None
    duration_s: float
    evidence: tuple[Evidence, ...]
    error: Failure | None
    response: Response = field(repr=False)

    @property
    def trusted(self) -> bool:
        """Whether it can be relied on: not degraded, or based on verified evidence."""
        return not self.degraded or rests_on_evidence(self.response)


def schema_of(shape: type[BaseModel | Value] | dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a shape.

    Raises:
        InvalidRequest: it is not one.
    """
    if isinstance(shape, dict):
        return shape
    # Imported here because it takes longer than a whole `submit` on the command line.
    from pydantic import BaseModel

    if not (isinstance(shape, type) and issubclass(shape, (BaseModel, Value))):
        raise InvalidRequest(
            f"schema {shape!r}: expected a pydantic model, a JSON Schema as a dict, or "
            "None"
        )
    return shape.model_json_schema()


def result_of(response: Response, shape: Shape = None) -> Result:
    """Turn a response into a result; one without a valid answer has `parsed` None.

    An answer that satisfies the JSON Schema of a pydantic model, but not the model's
    own validators, is not valid: `error` and `response` say so.
    """
    parsed: Any = response.parsed_output
    evidence: tuple[Evidence, ...] = ()
    if parsed is not None and isinstance(shape, type):
        from pydantic import ValidationError

        try:
            parsed = shape.model_validate(parsed)
        except ValidationError as exc:
            parsed, response = None, _mismatch(response, exc)
    elif shape is None and not response.own_form and _is_output(parsed):
        parsed = AgentOutput.model_validate(parsed)
        evidence = parsed.evidence
    return Result(
        request_id=response.request_id,
        success=response.success,
        parsed=parsed,
        raw=response.raw_output,
        route=response.route,
        model=response.model,
        degraded=response.degraded,
        task_id=response.task_id,
        duration_s=response.duration / 1000,
        evidence=evidence,
        error=response.error,
        response=response,
    )


def _is_output(value: object) -> bool:
    """Whether a value has the default form; a hand-written record may hold anything."""
    return isinstance(value, dict) and {"status", "summary", "evidence"} <= value.keys()


def _mismatch(response: Response, exc: ValidationError) -> Response:
    failure = Failure(
        code="schema_mismatch", message=first_problem(exc), stage=Stage.INVALID_ANSWER
    )
    return response.with_(success=False, error=failure)


def result_or_raise(response: Response, shape: Shape = None) -> Result:
    """The result of a response with a valid answer.

    Raises:
        RequestFailed: it has none.
    """
    if response.error is not None and response.status is not Status.COMPLETED:
        raise RequestFailed(response)
    result = result_of(response, shape)
    if result.error is not response.error:
        raise RequestFailed(result.response)
    return result
