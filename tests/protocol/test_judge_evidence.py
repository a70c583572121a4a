"""Evidence in an answer: only a call that was seen to run counts."""

from typing import Any

import pytest
from words import GOOD, asked, said

from bridge.protocol.agent_output import Evidence
from bridge.protocol.claimed_commands import ToolCall, rests_on_evidence
from bridge.protocol.judge import judge
from bridge.protocol.response import Response, RunSummary


def evidence(**item: object) -> str:
    return said(GOOD | {"evidence": [{"type": "test", "content": "ok"} | item]})


CALLS = [
    ToolCall("Bash", "t-1", "make  test", ok=False),
    ToolCall("Bash", "t-2", "make test", ok=True),
    ToolCall("Bash", "t-3", "make lint", ok=False),
    ToolCall("Bash", "t-4", "make slow", ok=None),
    ToolCall("Bash", "t-5", "cd /sub && make check", ok=True),
    ToolCall("Bash", "t-6", "echo 'a  b'", ok=True),
    ToolCall("Bash", "t-7", "true # make all", ok=True),
    ToolCall("Bash", "t-8", "A=1\u00a0make\u00a0b", ok=True),
    ToolCall("Bash", "t-9", "A=1\u2800make", ok=True),
]


def test_evidence_of_a_seen_call_is_verified():
    verdict = judge(asked(), evidence(command="make test", passed=True), calls=CALLS)

    (item,) = verdict.parsed["evidence"]
    assert (item["verified"], item["toolUseId"]) == (True, "t-2")


def test_a_call_without_an_end_verifies_nothing():
    verdict = judge(asked(), evidence(command="make slow", passed=True), calls=CALLS)

    assert verdict.parsed["evidence"][0]["verified"] is False


CLAIMS = [
    (
        "make check",
        (
            "names the command 'make check', which was not seen to run here, but as "
            "'cd /sub && make check'"
        ),
    ),
    # In quotes, and at the end of a line, blanks mean something.
    ("echo 'a b'", "names the command \"echo 'a b'\", which was not seen to run here"),
    # One word, an assignment that starts nothing.
    (
        "A=1 make b",
        "names the command 'A=1 make b', which was not seen to run here",
    ),
    (
        "A=1\u2800make",
        "names the command 'A=1\u2800make', which was not seen to run here",
    ),
    (
        "true #\nmake all",
        "names the command 'true #\\nmake all', which was not seen to run here",
    ),
    ("make all", "names the command 'make all', which was not seen to run here"),
    ("make lint", "says that 'make lint' passed, but the call failed"),
]


@pytest.mark.parametrize(("command", "said"), CLAIMS)
def test_error_evidence_of_an_unseen_or_failed_call(command, said):
    verdict = judge(asked(), evidence(command=command, passed=True), calls=CALLS)

    complaint = f"evidence[0] {said}: run it, or drop the claim"
    assert (verdict.code, verdict.complaint) == ("unverified", complaint)


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


EXTRA_KEYS = [
    (None, GOOD | {"verdict": "REJECTED"}, "unverified"),
    (None, GOOD | {"verdict": "REJECTED", "status": "partial"}, "unverified"),
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
]


@pytest.mark.parametrize(("schema", "value", "code"), EXTRA_KEYS)
def test_an_extra_key_does_not_take_back_a_success(schema, value, code):
    """Every other reader sees a success, so it needs evidence (P7)."""
    verdict = judge(asked(schema), said(value), calls=[], must_verify=True)

    assert verdict.code == code


def test_nothing_is_verified_if_no_calls_could_be_seen():
    verdict = judge(asked(), evidence(command="make all", passed=True), calls=None)

    assert verdict.is_valid
    assert verdict.parsed["evidence"][0]["verified"] is False


@pytest.mark.parametrize("schema", [None, FORM])
@pytest.mark.parametrize("command", ["make test", "make lint", "make slow", None])
def test_success_may_need_a_command_that_succeeded(schema, command):
    words = evidence(command=command)

    verdict = judge(asked(schema), words, calls=CALLS, must_verify=True)

    assert verdict.code == (None if command == "make test" else "unverified")


# Whether an answer rests on commands that were seen to run


def ran(command: str = "pytest", **fields: Any) -> Evidence:
    seen = {"command": command, "passed": True, "verified": True}
    seen |= {"type": "command", "content": "exit code 0", "tool_use_id": "call-1"}
    return Evidence(**(seen | fields))


FAILED = ran(passed=False, content="exit code 1")
SCRIPT = ran(type="script", command=None, content="count ran")
CHECK = SCRIPT.with_(tool_use_id="submit-1")
# What was seen, oldest first, and whether an answer can rest on it.
SEEN: dict[str, tuple[list[Evidence], bool]] = {
    "nothing": ([], False),
    "a command": ([ran()], True),
    "one that failed": ([FAILED], False),
    "one that was mended": ([FAILED, ran()], True),
    "one that broke": ([ran(), FAILED], False),
    "another that passed": ([FAILED, ran("true")], False),
    "one without an end": ([ran(passed=None)], False),
    "a claim": ([ran(verified=False)], False),
    "a script": ([SCRIPT], True),
    "the look at the answer itself": ([CHECK], False),
}


def response(**fields: Any) -> Response:
    known = {"request_id": "a", "success": True, "status": "completed"}
    known |= {"completed_at": 1, "duration": 1, "route": "local", "degraded": True}
    return Response(**(known | fields))


@pytest.mark.parametrize("own_form", [True, False])
@pytest.mark.parametrize("name", SEEN)
def test_evidence_of_our_own_loop(name, *, own_form):
    evidence, rests = SEEN[name]
    counts = {"turns": 1, "prompt_tokens": 1, "cached_tokens": 0, "tokens": 1}
    run = RunSummary(
        model="m", tools={}, duration=1, evidence=tuple(evidence), **counts
    )

    assert rests_on_evidence(response(run=run, own_form=own_form)) is rests


@pytest.mark.parametrize("name", [n for n in SEEN if n[:3] != "the"])
def test_evidence_in_an_answer(name):
    evidence, rests = SEEN[name]
    items = [item.to_data() for item in evidence]
    parsed = {"status": "success", "summary": "done", "evidence": items}

    assert rests_on_evidence(response(parsed_output=parsed)) is rests
    # In an answer with the caller's schema, everything is the agent's claim.
    assert not rests_on_evidence(response(parsed_output=parsed, own_form=True))
