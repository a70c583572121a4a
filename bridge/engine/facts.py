"""How something that was asked has ended, and what agents report of it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bridge.flow.filling import as_text
from bridge.protocol.wording import one_line

if TYPE_CHECKING:
    from bridge.engine.run import Run

    # How it has ended, and why, where it is no success. A called run that is `paused`
    # has not ended, nor has an agent that `asks` its person something: once that is
    # `answered`, it is asked again.
    Fact = tuple[Literal["ok", "failed", "error", "paused", "asks", "answered"], str]
    from bridge.protocol.response import Response

# Why a checkpoint has failed.
_REFUSED = "a person said no"
UNANSWERED = "nobody said yes in time"
_MAX_SAID = 200
# How often an agent may ask its person something at one visit.
MAX_QUESTIONS = 3


def refused(text: str) -> Fact:
    """That a person said no, and what they said beside it."""
    said = one_line(text, _MAX_SAID)
    has_reason = len(said.split()) > 1
    return "failed", f"{_REFUSED}: {said}" if has_reason else _REFUSED


def why_failed(arguments: Any) -> str:
    """Why a step `fail` has failed: the message that it is given."""
    said = arguments.get("message") if isinstance(arguments, dict) else arguments
    return as_text(said) or "it was to"


def is_persons(why: str) -> bool:
    """Whether a checkpoint has failed, perhaps in a flow that was called."""
    return _REFUSED in why or UNANSWERED in why


def called_failed(why: str) -> Fact:
    """That a flow that was called failed."""
    return "failed", f"the flow that it called failed: {why}"


def fact_of_run(called: Run) -> Fact | None:
    """How a run that was called has ended; None if it goes on."""
    match called["status"]:
        case "running":
            return None
        case "paused":
            return "paused", called["why"]
        case "completed":
            return "ok", ""
        case "failed":
            return called_failed(called["why"])
        case "cancelled":
            return "error", "the flow that it called was cancelled"


_FAILED = "agent_failed"
_BLOCKED = "agent_blocked"
# What a report says in its `status`, and the code of that.
_CODES = {"failed": _FAILED, "blocked": _BLOCKED}


class _Trouble(NamedTuple):
    code: str
    message: str


def fact_of(response: Response) -> Fact:
    """How a request has ended.

    A report in a form of its own that says failed or blocked is a failure, as one in
    ours is; so is any answer that says blocked and asks something.
    """
    trouble = _trouble(response)
    return ("ok", "") if trouble is None else _fact(trouble)


def fact_in(answer: Any) -> Fact | None:
    """How an agent says that it has ended; None if it does not say that it failed."""
    trouble = _reported(answer) if isinstance(answer, dict) else None
    return trouble and _fact(trouble)


def _fact(trouble: _Trouble) -> Fact:
    how = "failed" if trouble.code in (_FAILED, _BLOCKED) else "error"
    return how, f"{trouble.code}: {trouble.message}"  # type: ignore[return-value]  # of two


def question_in(response: Response) -> str:
    """What an agent that is blocked asks its person; empty if nothing."""
    trouble, parsed = _trouble(response), response.parsed_output
    is_blocked = trouble is not None and trouble.code == _BLOCKED
    return _question(parsed) if is_blocked and isinstance(parsed, dict) else ""


def _question(answer: dict[str, Any]) -> str:
    question = answer.get("question")
    if isinstance(question, list):
        question = "\n".join(each for each in question if isinstance(each, str))
    return question.strip() if isinstance(question, str) else ""


def said_by(response: Response) -> Any:
    """The answer: its value, or its text."""
    parsed = response.parsed_output
    return response.raw_output if parsed is None else parsed


def is_report(answer: Any) -> bool:
    """Whether an answer has a status and a summary, in our form or in its own."""
    return isinstance(answer, dict) and {"status", "summary"} <= answer.keys()


def _trouble(response: Response) -> _Trouble | None:
    if response.error is not None:
        return _Trouble(response.error.code, response.error.message)
    answer = response.parsed_output
    is_own = response.own_form and isinstance(answer, dict)
    return _reported(answer) if is_own else None


def _reported(answer: dict[str, Any]) -> _Trouble | None:
    status = answer.get("status")
    code = _CODES.get(status) if isinstance(status, str) else None
    if code and is_report(answer):
        return _Trouble(code, str(answer["summary"]))
    if code == _BLOCKED and (asked := _question(answer)):
        return _Trouble(code, asked)
    return None
