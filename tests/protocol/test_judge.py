"""What an agent's last words are worth: rows 10 and 19 of the fault list."""

from __future__ import annotations

from typing import Any

import pytest
from words import GOOD, NUMBER, asked, said

from bridge.protocol.agent_output import ANSWER_SCHEMA
from bridge.protocol.contract import full_prompt
from bridge.protocol.json_schema import problem_of_schema
from bridge.protocol.judge import ToolCall, Verdict, judge
from bridge.protocol.request import Request

# What counts


def test_the_bridge_fills_in_what_it_knows():
    request = Request(request_id="a", prompt="Which?", task_id="t-1")

    verdict = judge(request, said(GOOD), agent_id="agent-7", now_ms=99)

    assert verdict == Verdict(
        parsed={
            "status": "success",
            "summary": "all of them",
            "evidence": [],
            "agentId": "agent-7",
            "taskId": "t-1",
            "timestamp": 99,
        }
    )


def test_what_an_agent_says_of_itself_is_not_believed():
    own = {"agentId": "boss", "taskId": 5, "timestamp": "now", "agent_id": "x"}
    evidence = [{"type": "t", "content": "c", "verified": True, "toolUseId": 5}]

    verdict = judge(asked(), said(GOOD | own | {"evidence": evidence}), now_ms=1)

    assert verdict.code is None
    assert verdict.parsed["agentId"] is None
    assert verdict.parsed["timestamp"] == 1
    assert verdict.parsed["evidence"][0]["verified"] is False
    assert verdict.parsed["evidence"][0]["toolUseId"] is None


@pytest.mark.parametrize(
    ("words", "parsed"),
    [
        ('{"n": 1}', {"n": 1}),
        ('\ufeff {"n": 1} \n', {"n": 1}),
        ('Here you are:\n```json\n{"n": 1}\n```\nDone.', {"n": 1}),
        ('~~~\n{"n": 1}\n~~~', {"n": 1}),
        ('````\n{"n": 1}\n````', {"n": 1}),
        ('```json\r\n{"n": 1}\r\n```\r\n', {"n": 1}),
        ('```json\n{"n": 1}', {"n": 1}),
        ('It is {"n": 1}, as I said.', {"n": 1}),
        ('{"n": 1} and again {"n": 1}', {"n": 1}),
        ('{"wrong": 2} no: {"n": 1}', {"n": 1}),
        ('For {"all": []}:\n```\n{"n": 1}\n```\nSee {"n": 1}.', {"n": 1}),
        ('```py\nx = {}\n```\n{"n": 1}', {"n": 1}),
        ('```json\n{"n": 1, "t": "a\u2028b"}\n```', {"n": 1, "t": "a\u2028b"}),
        ('{"n": 9223372036854775807}', {"n": 9223372036854775807}),
    ],
    ids=[
        "bare", "bom", "fence", "tildes", "four", "crlf", "open fence", "prose",
        "twice the same", "one fits", "prose and fence", "fence without", "separator",
        "64 bits",
    ],
)  # fmt: skip
def test_one_value_that_fits_is_the_answer(words: str, parsed: object):
    assert judge(asked(NUMBER), words) == Verdict(parsed=parsed)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "array"}, []),
        ({"type": "object"}, {}),
        ({"type": "integer"}, 0),
        ({"type": "boolean"}, False),
        ({"type": "string"}, ""),
        ({"type": "null"}, None),
    ],
    ids=["array", "object", "zero", "false", "empty string", "null"],
)
@pytest.mark.parametrize(
    "form",
    ["{}", "So:\n```\n{}\n```\n", "So:\n```\n{}"],
    ids=["bare", "fenced", "in an open fence"],
)
def test_a_value_that_is_false_to_python_is_an_answer(
    schema: dict[str, Any], value: object, form: str
):
    verdict = judge(asked(schema), form.format(said(value)))

    assert (verdict.code, verdict.parsed) == (None, value)


@pytest.mark.parametrize("status", ["failed", "blocked"])
def test_a_report_of_trouble_is_a_valid_answer(status: str):
    verdict = judge(asked(), said({"status": status, "summary": "no access"}))

    assert verdict.is_valid
    assert verdict.code == f"agent_{status}"
    assert verdict.complaint == "no access"
    assert verdict.parsed["status"] == status


# What does not count, and why

TWO_VALUES = (
    "the last message holds 2 different JSON values that satisfy the schema; "
    "send exactly one"
)


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        ("", "empty_answer", "the last message was empty"),
        (" \n\t\ufeff", "empty_answer", "the last message was empty"),
        ("\ufeff", "empty_answer", "the last message was empty"),
        ("I did it.", "no_json", "the last message holds no JSON value"),
        ('{"n": 1', "no_json", "the last message holds no JSON value"),
        ('{"n": NaN}', "no_json", "NaN is not JSON"),
        ('{"n": Infinity}', "no_json", "Infinity is not JSON"),
        ('{"n": 1e400}', "no_json", "the number 1e400 is too large"),
        (
            '{"n": 1, "n": 2}',
            "no_json",
            "the key 'n' stands twice in one JSON object",
        ),
        (
            '{"n": 123456789012345678901234567890}',
            "no_json",
            "the number 123456789012345678901234567890 is too large",
        ),
        (
            '{"n": 18446744073709551616}',
            "no_json",
            "the JSON cannot be stored: Integer exceeds 64-bit range",
        ),
        (
            '{"n": "\\ud800"}',
            "no_json",
            "the JSON cannot be stored: str is not valid UTF-8: surrogates not allowed",
        ),
        ("[" * 10_000 + "]" * 10_000, "no_json", "the JSON is nested too deeply"),
        (
            "[" * 250 + "]" * 250,
            "no_json",
            "the JSON cannot be stored: Recursion limit reached",
        ),
        ('{"n": "1"}', "schema_mismatch", '$.n: "1" is not of type "integer"'),
        ('{"m": 1}', "schema_mismatch", '$: "n" is a required property'),
        ("[]", "schema_mismatch", '$: [] is not of type "object"'),
        ('{"n": 1} {"n": 2}', "schema_mismatch", TWO_VALUES),
        ('```\n{"n": 1}\n```\nNo: {"n": 2}', "schema_mismatch", TWO_VALUES),
        ('{"n": 1}, or\n~~~\n{"n": 2}\n~~~', "schema_mismatch", TWO_VALUES),
        (
            "x" * 4_000_001,
            "schema_mismatch",
            "the answer has 4,000,001 characters; 4,000,000 is the limit",
        ),
    ],
    ids=[
        "nothing", "blank", "bom", "prose", "cut", "nan", "infinity", "1e400", "twice",
        "large", "65 bits", "surrogate", "deep", "250 deep", "type", "missing", "array",
        "two", "one after a fence", "one before a fence", "huge",
    ],
)  # fmt: skip
def test_error_words_that_do_not_count(words: str, code: str, complaint: str):
    assert judge(asked(NUMBER), words) == Verdict(code=code, complaint=complaint)  # type: ignore[arg-type]


def test_error_true_is_not_one():
    """To Python they are equal; a caller must hear that there were two."""
    verdict = judge(asked({"enum": [1, True]}), "[1] [true]")
    two = judge(asked({"type": "array"}), "[1] [true]")

    assert verdict.code == "schema_mismatch"
    assert two.complaint.startswith("the last message holds 2 different JSON values")


PROMPT = (
    "Read bridge/store/store.py from its first line to its last. "
    "Then tell me which of its promises it keeps."
)


@pytest.mark.parametrize(
    "words",
    [
        PROMPT,
        f"  {PROMPT}\n\n",
        f"You asked: {PROMPT}",
        PROMPT.replace(" ", "\n"),
        full_prompt(PROMPT, None),
        "## How to answer (hostbridge)\n" + said(ANSWER_SCHEMA),
    ],
    ids=["whole", "padded", "quoted", "rewrapped", "with contract", "the contract"],
)
def test_error_an_echo_is_no_answer(words: str):
    assert judge(asked(prompt=PROMPT), words) == Verdict(
        code="prompt_echo",
        complaint="the last message repeats the prompt instead of answering it",
    )


def test_error_json_of_the_prompt_is_no_answer():
    """A prompt may show an example of the answer; to repeat it is not to answer."""
    prompt = f"{PROMPT} For example: {said(GOOD)}"

    assert judge(asked(prompt=prompt), prompt).code == "prompt_echo"


def test_an_answer_after_the_prompt_counts():
    verdict = judge(asked(prompt=PROMPT), f"{PROMPT}\n\n{said(GOOD)}")

    assert (verdict.code, verdict.parsed["summary"]) == (None, "all of them")


# Evidence


def evidence(**item: object) -> str:
    return said(GOOD | {"evidence": [{"type": "test", "content": "ok"} | item]})


CALLS = [
    ToolCall("Bash", "t-1", "make  test", ok=False),
    ToolCall("Bash", "t-2", "make test", ok=True),
    ToolCall("Bash", "t-3", "make lint", ok=False),
    ToolCall("Bash", "t-4", "make slow", ok=None),
]


def test_evidence_counts_where_the_call_was_seen():
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
        ("make lint", "evidence[0] says that 'make lint' passed, but the call failed"),
    ],
    ids=["unseen", "failed"],
)
def test_error_evidence_without_the_call(command: str, complaint: str):
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
def test_a_key_that_was_not_asked_for_takes_no_success_back(
    schema: Any, value: Any, code: str | None
):
    """P7: everybody else reads the success, and nothing was seen to run for it."""
    verdict = judge(asked(schema), said(value), calls=[], must_verify=True)

    assert verdict.code == code


def test_where_nobody_could_see_calls_nothing_is_verified():
    verdict = judge(asked(), evidence(command="make all", passed=True), calls=None)

    assert verdict.is_valid
    assert verdict.parsed["evidence"][0]["verified"] is False


# Schemas of callers


def test_error_a_pattern_that_re_would_never_be_done_with():
    """Outside hooks no alarm rings: on every other route the judge has to end."""
    schema = {"type": "object", "properties": {"code": {"pattern": "^(a+)+$"}}}

    verdict = judge(asked(schema), said({"code": "a" * 60 + "!"}))

    assert verdict.code == "schema_mismatch"
    assert verdict.complaint.startswith("$.code: ")


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        (
            {"type": "objekt"},
            (
                '$.type: "objekt" is not valid under any of the schemas listed in the '
                "'anyOf' keyword"
            ),
        ),
        ({"pattern": "("}, '$.pattern: "(" is no regular expression, or far too large'),
        (
            {"$ref": "#/nope"},
            "cannot be used: Pointer '/nope' does not exist",
        ),
        (
            {"$ref": "http://127.0.0.1:9/x"},
            "cannot be used: nothing is fetched from 'http://127.0.0.1:9/x'",
        ),
        (
            {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
            "cannot be used: nothing is fetched from 'file:///etc/passwd'",
        ),
    ],
    ids=["type", "pattern", "nowhere", "network", "file"],
)  # fmt: skip
def test_error_a_schema_that_cannot_be_used(schema: dict[str, Any], complaint: str):
    assert problem_of_schema(schema) == complaint


def test_sound_schemas_are_sound():
    recursive = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    named = {"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}}

    assert problem_of_schema(recursive) is None
    assert problem_of_schema(named) is None
    assert problem_of_schema(ANSWER_SCHEMA) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 5},
        {"pattern": "("},
        {"$ref": "#/nope"},
        {"$ref": "http://127.0.0.1:9/x"},
        {"$schema": 5},
        {"properties": 5},
    ],
    ids=["type", "pattern", "nowhere", "network", "$schema", "properties"],
)
def test_error_an_unchecked_schema_is_a_named_failure(schema: dict[str, Any]):
    """A request dropped by hand may hold any schema; a hook must survive it."""
    verdict = judge(asked(schema), '{"n": "x"}')

    assert verdict.code in ("schema_mismatch", None)
    assert verdict.code is None or verdict.complaint


def test_error_an_answer_too_deep_for_its_schema():
    schema = {"items": {"$ref": "#"}, "type": "array"}

    verdict = judge(asked(schema), "[" * 230 + "]" * 230)

    assert verdict.code in (None, "schema_mismatch")
