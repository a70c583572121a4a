"""Several validators in one request: with the same rights, each by its own form."""

from __future__ import annotations

from typing import Any

import built_in_agents
import pytest

from bridge.agents.apply import applied
from bridge.change.change import Change
from bridge.errors import InvalidRequest
from bridge.protocol.json_schema import problem_of
from bridge.protocol.request import Request
from bridge.protocol.response import Failure, Response
from bridge.protocol.status import Stage
from bridge.validation.report import Verdict
from bridge.validation.rights import can_read, why_not
from bridge.validation.together import reports_of, together

LOGIC = built_in_agents.definition_of("validator-logic")
SECURITY = built_in_agents.definition_of("validator-security")
SYNTAX = built_in_agents.definition_of("validator-syntax")
GOOD: dict[str, Any] = {
    "verdict": "APPROVED",
    "summary": "fine",
    "checks": [{"name": "intent", "passed": True}],
    "issues": [],
}
BAD = {**GOOD, "verdict": "REJECTED", "summary": "no"}


def response(parsed: Any, **facts: Any) -> Response:
    fields = {
        "request_id": "r1",
        "success": True,
        "status": "completed",
        "parsed_output": parsed,
        "own_form": True,
        "completed_at": 5,
        "duration": 1500,
        "route": "host",
    }
    return Response(**{**fields, **facts})


def test_one_request_has_the_lists_of_both():
    asked = together([LOGIC, SECURITY], "Look at it.", model="opus")

    assert (asked.agent, asked.timeout_s) == ("validator-logic", 1800)
    assert asked.validators == ("validator-logic", "validator-security")
    request = applied(
        LOGIC,
        Request(
            request_id="r",
            agent_type=asked.agent,
            prompt=asked.prompt,
            answer_schema=asked.schema,
            context={"change": "+x"},
        ),
    )
    prompt = request.spoken
    assert prompt.count("1. intent: the change does all that the task says") == 1
    assert prompt.count("1. injection: shell, SQL, templates") == 1
    assert prompt.count("Look at it.") == 1
    assert prompt.count("+x") == 1
    both = dict.fromkeys(asked.validators, GOOD)
    assert problem_of(asked.schema, both) is None
    assert problem_of(asked.schema, {"validator-logic": GOOD}) is not None
    assert problem_of(asked.schema, {**both, "x": 1})


def test_each_has_its_own_report():
    both = {"validator-logic": GOOD, "validator-security": BAD}

    logic, security = reports_of([LOGIC, SECURITY], response(both))

    assert (logic.validator, logic.verdict) == ("validator-logic", Verdict.APPROVED)
    assert (security.verdict, security.summary) == (Verdict.REJECTED, "no")
    assert {logic.request_id, security.request_id} == {"r1"}


@pytest.mark.parametrize(
    "part",
    [None, {}, "APPROVED", {**GOOD, "verdict": "FINE"}, {**GOOD, "more": 1}],
)
def test_a_part_without_its_form_approves_nothing(part):
    both = {"validator-logic": GOOD, "validator-security": part}
    both = {name: each for name, each in both.items() if each is not None}

    logic, security = reports_of([LOGIC, SECURITY], response(both))

    assert logic.verdict is Verdict.APPROVED
    assert security.verdict is Verdict.NEEDS_REVIEW
    assert security.doubts


def test_one_failure_is_the_failure_of_all():
    failure = Failure(code="timeout", message="late", stage=Stage.RUNNING)
    ended = response(None, success=False, status="timeout", error=failure)

    reports = reports_of([LOGIC, SECURITY], ended)

    assert [each.code for each in reports] == ["timeout", "timeout"]
    assert {each.verdict for each in reports} == {Verdict.NEEDS_REVIEW}


@pytest.mark.parametrize(
    ("definitions", "model", "message"),
    [
        ([LOGIC], None, "fewer than two validators need not be asked together"),
        (
            [LOGIC, SECURITY],
            None,
            (
                "validator-logic and validator-security cannot be asked together: they "
                "differ in model"
            ),
        ),
        (
            [LOGIC, SYNTAX],
            "opus",
            (
                "validator-logic and validator-syntax cannot be asked together: they "
                "differ in routes, tools, blocked_tools, allow, context"
            ),
        ),
        (
            [SYNTAX, SYNTAX.model_copy(update={"name": "other"})],
            None,
            (
                "validator-syntax cannot be asked together with others: it has "
                "require_verified_evidence"
            ),
        ),
        (
            [LOGIC, LOGIC],
            None,
            "a validator is named twice: validator-logic, validator-logic",
        ),
        (
            [
                LOGIC,
                LOGIC.model_copy(
                    update={"name": "mine", "output_schema": {"$ref": "#/$defs/x"}}
                ),
            ],
            None,
            (
                "mine cannot be asked together with others: it has a $ref in "
                "output_schema"
            ),
        ),
    ],
)
def test_error_validators_that_do_not_go_together(definitions, model, message):
    with pytest.raises(InvalidRequest) as failed:
        together(definitions, "Look.", model=model)

    assert failed.value.what == message


def test_what_a_validator_can_look_at():
    """One that runs commands cannot vouch for what is not in the files."""
    here, elsewhere = Change("x"), Change("x", is_in_files=False)

    assert can_read(LOGIC)
    assert not can_read(LOGIC.model_copy(update={"tools": ("Bash",)}))
    assert not can_read(LOGIC.model_copy(update={"blocked_tools": ("Read",)}))
    assert can_read(LOGIC.model_copy(update={"tools": None}))
    assert why_not(SYNTAX, here) is None
    assert why_not(LOGIC, elsewhere) is None
    assert "check it out" in (why_not(SYNTAX, elsewhere) or "")
