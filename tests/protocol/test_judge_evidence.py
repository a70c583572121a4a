"""Evidence in an answer: only a call that was seen to run counts."""

from __future__ import annotations

import pytest
from words import GOOD, asked, said

from bridge.protocol.claimed_commands import ToolCall
from bridge.protocol.judge import Verdict, judge


def evidence(**item: object) -> str:
    return said(GOOD | {"evidence": [{"type": "test", "content": "ok"} | item]})


CALLS = [
    ToolCall("Bash", "t-1", "make  test", ok=False),
    ToolCall("Bash", "t-2", "make test", ok=True),
    ToolCall("Bash", "t-3", "make lint", ok=False),
    ToolCall("Bash", "t-4", "make slow", ok=None),
]


def test_evidence_of_a_seen_call_is_verified():
    verdict = judge(asked(), evidence(command="make test", passed=True), calls=CALLS)

    (item,) = verdict.parsed["evidence"]
    assert (item["verified"], item["toolUseId"]) == (True, "t-2")


def test_a_call_without_an_end_verifies_nothing():
    verdict = judge(asked(), evidence(command="make slow", passed=True), calls=CALLS)

    assert verdict.parsed["evidence"][0]["verified"] is False


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (
            "make all",
            (
                "evidence[0] names the command 'make all', which was not seen to run "
                "here: run it, or drop the claim"
            ),
        ),
        (
            "make lint",
            (
                "evidence[0] says that 'make lint' passed, but the call failed: run "
                "it, or drop the claim"
            ),
        ),
    ],
    ids=["unseen", "failed"],
)
def test_error_evidence_of_an_unseen_or_failed_call(command, complaint):
    verdict = judge(asked(), evidence(command=command, passed=True), calls=CALLS)

    assert verdict == Verdict(code="unverified", complaint=complaint)


FORM = {"type": "object", "properties": {"ok": {}, "evidence": {}}}


RECURSIVE = {
    "$ref": "#/$defs/Check",
    "$defs": {
        "Check": {
            "type": "object",
            "properties": {"status": {}, "parts": {"items": {"$ref": "#/$defs/Check"}}},
        }
    },
}


CHOICE = {"oneOf": [{"properties": {"ok": {}}}, {"properties": {"verdict": {}}}]}


VERDICT = {"type": "object", "properties": {"verdict": {}, "status": {}}}


@pytest.mark.parametrize(
    ("schema", "value", "code"),
    [
        (None, GOOD | {"verdict": "REJECTED"}, "unverified"),
        (None, GOOD | {"verdict": "REJECTED", "status": "partial"}, None),
        (FORM, {"ok": True, "verdict": "REJECTED"}, "unverified"),
        (FORM, {"ok": True, "status": "failed"}, "unverified"),
        (VERDICT, {"verdict": "REJECTED", "status": "success"}, "unverified"),
        (VERDICT, {"verdict": "REJECTED"}, None),
        (VERDICT, {"verdict": "APPROVED"}, "unverified"),
        (RECURSIVE, {"status": "failed", "parts": []}, None),
        (RECURSIVE, {"verdict": "REJECTED"}, "unverified"),
        (CHOICE, {"verdict": "REJECTED", "more": 1}, "schema_mismatch"),
        ({"anyOf": [CHOICE, {}]}, {"verdict": "REJECTED"}, None),
        ({"type": "object", "required": ["status"]}, {"status": "failed"}, None),
    ],
)
def test_an_extra_key_does_not_take_back_a_success(schema, value, code):
    """Every other reader sees a success, so it needs evidence (P7)."""
    verdict = judge(asked(schema), said(value), calls=[], must_verify=True)

    assert verdict.code == code


def test_nothing_is_verified_if_no_calls_could_be_seen():
    verdict = judge(asked(), evidence(command="make all", passed=True), calls=None)

    assert verdict.is_valid
    assert verdict.parsed["evidence"][0]["verified"] is False


@pytest.mark.parametrize("schema", [None, FORM])
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("make test", None),
        ("make lint", "unverified"),
        ("make slow", "unverified"),
        (None, "unverified"),
    ],
)
def test_success_may_need_a_command_that_succeeded(schema, command, code):
    words = evidence(command=command)

    verdict = judge(asked(schema), words, calls=CALLS, must_verify=True)

    assert verdict.code == code
