"""Several validators in one request: with the same rights, each by its own form."""

import built_in_agents
import pytest
from validatorworld import APPROVED, response

from bridge.agents.apply import applied
from bridge.change.change import Change
from bridge.protocol.json_schema import problem_of
from bridge.protocol.request import Request
from bridge.validation.look import can_read, runs_commands, why_not_run
from bridge.validation.report import Verdict
from bridge.validation.together import grouped, reports_of, together

LOGIC = built_in_agents.definition_of("validator-logic")
SECURITY = built_in_agents.definition_of("validator-security")
SYNTAX = built_in_agents.definition_of("validator-syntax")
BAD = {**APPROVED, "verdict": "REJECTED", "summary": "no"}


def parts_of(*definitions):
    parts, alone = grouped(definitions)
    assert alone == {}
    return parts


def test_one_request_has_the_lists_of_both():
    asked = together(parts_of(LOGIC, SECURITY), "Look at it.")

    # The more able one of the models that they want.
    assert (asked.agent, asked.model) == ("validator-logic", "opus")
    assert asked.validators == ("validator-logic", "validator-security")
    fields = {"agent_type": asked.agent, "prompt": asked.prompt}
    fields |= {"answer_schema": asked.schema, "context": {"change": "+x"}}
    prompt = applied(LOGIC, Request(request_id="r", **fields)).spoken
    assert prompt.count("1. intent: the change does all that the task says") == 1
    assert prompt.count("1. injection: shell, SQL, templates") == 1
    assert (prompt.count("Look at it."), prompt.count("+x")) == (1, 1)
    both = dict.fromkeys(asked.validators, APPROVED)
    assert problem_of(asked.schema, both) is None
    assert problem_of(asked.schema, {"validator-logic": APPROVED}) is not None
    assert problem_of(asked.schema, {**both, "x": 1})


def test_each_has_its_own_report():
    both = {"validator-logic": APPROVED, "validator-security": BAD}

    logic, security = reports_of(parts_of(LOGIC, SECURITY), response(both))

    assert (logic.validator, logic.verdict) == ("validator-logic", Verdict.APPROVED)
    assert (security.verdict, security.summary) == (Verdict.REJECTED, "no")
    assert {logic.request_id, security.request_id} == {"r1"}


@pytest.mark.parametrize(
    "part",
    [None, {}, "APPROVED", {**APPROVED, "verdict": "FINE"}, {**APPROVED, "more": 1}],
)
def test_a_part_without_its_form_approves_nothing(part):
    both = {"validator-logic": APPROVED, "validator-security": part}
    both = {name: each for name, each in both.items() if each is not None}

    logic, security = reports_of(parts_of(LOGIC, SECURITY), response(both))

    assert logic.verdict is Verdict.APPROVED
    assert security.verdict is Verdict.NEEDS_REVIEW
    assert security.doubts


def mine(name="mine", **more):
    return LOGIC.model_copy(update={"name": name, **more})


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (SYNTAX, "it has require_verified_evidence"),
        (mine(tools=("Read",)), "it differs from validator-logic in tools"),
        (mine(model="openai:big"), "it differs from validator-logic in model"),
        (mine(routes=("endpoint",)), "it differs from validator-logic in routes"),
        (mine(output_schema={"$ref": "#/$defs/x"}), "it has a $ref in output_schema"),
        (
            mine(prompt="{{ arguments.x }}"),
            "prompt of agent 'mine' cannot be filled in",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_those_that_do_not_go_together_are_alone_and_say_why(other, why):
    parts, alone = grouped([LOGIC, other, SECURITY])

    assert [*parts] == ["validator-logic", "validator-security"]
    assert [*alone] == [other.name]
    assert why in alone[other.name]


def test_each_group_has_the_same_rights():
    reading = [mine(name, tools=("Read",)) for name in ("one", "two")]

    parts, alone = grouped([LOGIC, reading[0], SECURITY, reading[1]])

    groups = {name: part["group"] for name, part in parts.items()}
    assert alone == {}
    assert groups["one"] == groups["two"]
    assert groups["validator-logic"] == groups["validator-security"] != groups["one"]


def test_one_alone_has_nobody_to_go_with():
    why = "there is no other that could be asked with it"
    assert grouped([LOGIC]) == ({}, {"validator-logic": why})


def test_what_a_validator_can_look_at():
    """One that runs commands cannot vouch for what is not in the files."""
    assert can_read(LOGIC)
    assert not can_read(LOGIC.model_copy(update={"tools": ("Bash",)}))
    assert not can_read(LOGIC.model_copy(update={"blocked_tools": ("Read",)}))
    assert can_read(LOGIC.model_copy(update={"tools": None}))
    assert runs_commands(SYNTAX)
    assert not runs_commands(LOGIC)
    assert "check it out" in why_not_run(Change("x", is_in_files=False))
