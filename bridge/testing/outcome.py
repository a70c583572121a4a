"""How one request ends in a test: what an agent says, or a named failure. Pure.

`answer`, `says` and `failure` make an `Outcome`, and its `repr` is the call that makes
it again: what a failing test prints can be pasted into the next one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, get_args

from bridge.protocol import plain_json
from bridge.protocol.failure_codes import ANSWERED, MEANINGS, FailureCode, explain
from bridge.protocol.judge import judge
from bridge.protocol.question import KEY, is_question
from bridge.protocol.response import Response, answered, failed
from bridge.protocol.status import Stage
from bridge.store.claim import expired

if TYPE_CHECKING:
    from bridge.protocol.question import Asked
    from bridge.protocol.request import Request

CODES: tuple[FailureCode, ...] = get_args(FailureCode)
DONE = {"status": "success", "summary": "done"}
_REPORTS: dict[str, str] = {"agent_failed": "failed", "agent_blocked": "blocked"}


@dataclass(frozen=True, slots=True, repr=False)
class Outcome:
    """How one request ends; made by `answer`, `says` or `failure`.

    Attributes:
        words: what the agent says last.
        code: the failure that ends the request; None if the words decide.
        message: what the failure says for people, beside what its code means.
        degraded: the record says that a small model answered, or another than wanted.
        after_s: how many seconds the record says that it took. Nothing waits for them;
            at the request's own deadline it is a `timeout`.
        crashes: how often the process that holds the request dies before it answers.
        then: what a second agent says afterwards, too late to count.
    """

    words: str = ""
    code: FailureCode | None = None
    message: str = ""
    degraded: bool = False
    after_s: float = 0.0
    crashes: int = 0
    then: str | None = None

    def __repr__(self) -> str:
        named = ("degraded", "after_s", "crashes", "then")
        usual = {each.name: each.default for each in fields(self)}
        more = [
            f"{name}={value!r}"
            for name in named
            if (value := getattr(self, name)) != usual[name]
        ]
        name, told = self._call()
        return f"{name}({', '.join([*told, *more])})"

    def _repr_pretty_(self, printer: Any, _is_cycle: bool) -> None:  # noqa: FBT001 - IPython's
        """As Hypothesis prints it, too."""
        printer.text(repr(self))

    def _call(self) -> tuple[str, list[str]]:
        """The function that makes it, and what it takes in front."""
        if self.code is not None:
            message = [f"message={self.message!r}"] if self.message else []
            words = [f"words={self.words!r}"] if self.words else []
            return "failure", [repr(self.code), *message, *words]
        try:
            value = plain_json.loads(self.words)
        except ValueError:
            return "says", [repr(self.words)]
        if self.words != _dumped(value):
            return "says", [repr(self.words)]
        asked = value.get(KEY) if is_question(value) else None
        if isinstance(asked, dict) and [*asked] == ["words", "form"]:
            return "asks", [repr(asked["words"]), repr(asked["form"])]
        return "answer", [repr(value)]


def answer(value: Any = DONE, **more: Any) -> Outcome:
    """An agent that answers with `value`, as JSON: anything that pydantic can write.

    Without one it is the shortest success of the default form. The answer is checked as
    any: one that does not fit what was asked ends as `schema_mismatch`. `more` are the
    other attributes of an `Outcome`.
    """
    if not isinstance(value, (dict, list, str, int, float)):
        from pydantic_core import to_jsonable_python

        value = to_jsonable_python(value)
    return Outcome(_dumped(value), **more)


def says(words: str, **more: Any) -> Outcome:
    """An agent whose last message is `words`: prose, nothing, or JSON within a text."""
    return Outcome(words, **more)


def asks(words: str, form: dict[str, Any], **more: Any) -> Outcome:
    """An agent that asks back; with the reply, its request has the next outcome.

    `form` is the JSON Schema of the reply. Where it may not ask, it is no answer.
    """
    return Outcome(_dumped({KEY: {"words": words, "form": form}}), **more)


def failure(
    code: FailureCode, *, message: str = "", words: str = "", **more: Any
) -> Outcome:
    """A request that ends with this code, one of those in state/FAILURES.md.

    `agent_failed` and `agent_blocked` are answers of the default form. With `no_host`
    no session is open, and nothing can be asked.

    Raises:
        ValueError: there is no such code.
    """
    if code not in CODES:
        raise ValueError(f"code {code!r}: expected one of {', '.join(CODES)}")
    if code in ANSWERED:
        report = {"status": _REPORTS[code], "summary": message or MEANINGS[code]}
        return answer(report, **more)
    return Outcome(words, code, message, **more)


def response_to(request: Request, outcome: Outcome) -> Response:
    """The record of the end of `request`, at the time that the outcome names."""
    now_ms = request.asked_ms + round(outcome.after_s * 1000)
    if outcome.code == "timeout" or now_ms >= request.deadline_ms:
        return expired(request, request.deadline_ms, Stage.RUNNING, outcome.message)
    if outcome.code is not None:
        why = explain(outcome.code, outcome.message)
        end = failed(request, outcome.code, why, now_ms=now_ms, raw=outcome.words)
    else:
        end = _judged(request, outcome.words, now_ms)
    return end.with_(degraded=outcome.degraded)


def question_in(request: Request, words: str) -> Asked | None:
    """What an agent asks by its last words; None if they are no question."""
    return judge(request, words, now_ms=request.asked_ms).question


def _judged(request: Request, words: str, now_ms: int) -> Response:
    """What the words are worth, as the bridge itself sees it."""
    verdict = judge(request, words, now_ms=now_ms)
    if not verdict.is_valid:
        code = verdict.code or "no_json"
        why = explain(code, verdict.detail)
        return failed(request, code, why, now_ms=now_ms, raw=words)
    return answered(
        request,
        raw=words,
        parsed=verdict.parsed,
        now_ms=now_ms,
        route="host",
        failure=verdict.failure_at(request.stage),
    )


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
