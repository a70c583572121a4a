"""What an ask returns."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import orjson

from bridge.errors import InvalidRequest
from bridge.protocol.agent_output import AgentOutput, Evidence
from bridge.protocol.claimed_commands import rests_on_evidence
from bridge.protocol.record import first_problem
from bridge.protocol.response import Failure, RequestFailed, Response, ServedBy
from bridge.protocol.status import Stage, Status
from bridge.protocol.usage import Usage
from bridge.protocol.wording import quoted

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError


_SENTENCE = re.compile(r"\. |\n")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Result(Generic[T_co]):
    """One answer; a type checker knows the type of `parsed`.

    Attributes:
        request_id: the request it belongs to.
        success: a valid answer that reports neither failure nor being blocked.
        parsed: a value of the type given as `schema`, decoded JSON if that was a JSON
            Schema, otherwise an `AgentOutput`; None without a valid answer.
        raw: the agent's answer, unchanged.
        route: which route gave it: host, manual, claude, local, endpoint.
        model: the model that answered, if known; otherwise the one asked for, None for
            the session's own.
        degraded: a small model answered, or not the one wanted; see `trusted`.
        task_id: the task id of the request; None if it had none.
        duration_s: seconds from the request to the answer.
        evidence: what an `AgentOutput` rests on, and whether it was verified; empty for
            an answer of any other form, which is the agent's claim throughout. On the
            routes local and endpoint, what was seen to run is in `response.run`,
            whatever the form.
        usage: what the agent took, with those below it, as far as the route tells; None
            if it does not. What an agent of a session takes after its answer is not in
            it: `hostbridge show` tells all of it.
        error: the failure, None if there is none.
        cached: it is an earlier answer, given at `response.completed_at`, and what it
            rests on is still as it was; `ask(cached=True)` alone returns such.
        response: the whole record.
    """

    request_id: str
    success: bool
    parsed: T_co
    raw: str = field(repr=False)
    route: str
    model: str | None
    degraded: bool
    task_id: str | None = field(repr=False)
    duration_s: float
    evidence: tuple[Evidence, ...] = field(repr=False)
    usage: Usage | None = field(repr=False)
    error: Failure | None
    response: Response = field(repr=False)
    cached: bool = False

    def marked_cached(self) -> Result[T_co]:
        """The same result, as that of an earlier answer."""
        return replace(self, cached=True)

    @property
    def served_by(self) -> ServedBy | None:
        """The machine that answered over a queue; None if this one did."""
        return self.response.served_by

    @property
    def trusted(self) -> bool:
        """Whether it can be relied on: not degraded, or based on verified evidence."""
        return not self.degraded or rests_on_evidence(self.response)


def schema_of(form: object) -> dict[str, Any]:
    """The JSON Schema of the form of an answer.

    Raises:
        InvalidRequest: it has none.
    """
    if isinstance(form, dict):
        return form
    try:
        return _adapter(form).json_schema()
    except Exception as exc:  # noqa: BLE001 - pydantic asks the program's own types
        raise InvalidRequest(
            f"schema {quoted(form)}: expected a pydantic model or another type that "
            "pydantic can check, a JSON Schema as a dict, or None: "
            f"{_SENTENCE.split(str(exc), 1)[0]}"
        ) from None


def _adapter(form: Any) -> TypeAdapter[Any]:
    """What checks and reads an answer of this form, which is no JSON Schema."""
    if isinstance(form, str | FunctionType | MethodType):
        raise TypeError(f"a {type(form).__name__} is not a type")
    # Imported here because it takes longer than a whole `submit` on the command line.
    from pydantic import TypeAdapter

    return TypeAdapter(form)


def result_of(response: Response, form: object = None) -> Result[Any]:
    """Turn a response into a result; one without a valid answer has `parsed` None.

    An answer that satisfies the JSON Schema of a type, but not the type's own
    validators, is not valid: `error` and `response` say so.
    """
    parsed: Any = response.parsed_output
    evidence: tuple[Evidence, ...] = ()
    if form is None:
        if not response.own_form and _is_output(parsed):
            parsed = AgentOutput.model_validate(parsed)
            evidence = parsed.evidence
    elif response.status is Status.COMPLETED and not isinstance(form, dict):
        from pydantic import ValidationError

        try:
            parsed = _adapter(form).validate_json(orjson.dumps(parsed))
        except ValidationError as exc:
            parsed, response = None, _mismatch(response, exc)
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
        usage=response.usage,
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


def result_or_raise(response: Response, form: object = None) -> Result[Any]:
    """The result of a response with a valid answer.

    Raises:
        RequestFailed: it has none.
    """
    if response.error is not None and response.status is not Status.COMPLETED:
        raise RequestFailed(response)
    result = result_of(response, form)
    if result.error is not response.error:
        raise RequestFailed(result.response)
    return result
