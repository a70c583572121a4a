"""What the response of an agent means for the run that has asked it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from bridge.engine.facts import Fact
    from bridge.protocol.response import Response

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
