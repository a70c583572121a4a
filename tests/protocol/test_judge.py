"""Judging an agent's last message: which answers count, and why others do not."""

import pytest
from words import GOOD, NUMBER, asked, said

from bridge.protocol.agent_output import ANSWER_SCHEMA
from bridge.protocol.contract import full_prompt
from bridge.protocol.judge import Judgement, judge
from bridge.protocol.request import Request


def test_the_bridge_fills_in_its_fields():
    request = Request(request_id="a", prompt="Which?", task_id="t-1")

    verdict = judge(request, said(GOOD), agent_id="agent-7", now_ms=99)

    ours = {"agentId": "agent-7", "taskId": "t-1", "timestamp": 99}
    assert verdict == Judgement(parsed=GOOD | {"evidence": []} | ours)


def test_an_agent_cannot_fill_in_the_fields_of_the_bridge():
    own = {"agentId": "boss", "taskId": 5, "timestamp": "now", "agent_id": "x"}
    evidence = [{"type": "t", "content": "c", "verified": True, "toolUseId": 5}]

    verdict = judge(asked(), said(GOOD | own | {"evidence": evidence}), now_ms=1)

    (seen,) = verdict.parsed["evidence"]
    assert (verdict.code, verdict.parsed["agentId"]) == (None, None)
    assert verdict.parsed["timestamp"] == 1
    assert (seen["verified"], seen["toolUseId"]) == (False, None)


ANSWERS = {
    "bare": ('{"n": 1}', {"n": 1}),
    "bom": ('\ufeff {"n": 1} \n', {"n": 1}),
    "fence": ('Here you are:\n```json\n{"n": 1}\n```\nDone.', {"n": 1}),
    "tildes": ('~~~\n{"n": 1}\n~~~', {"n": 1}),
    "four": ('````\n{"n": 1}\n````', {"n": 1}),
    "crlf": ('```json\r\n{"n": 1}\r\n```\r\n', {"n": 1}),
    "open fence": ('```json\n{"n": 1}', {"n": 1}),
    "prose": ('It is {"n": 1}, as I said.', {"n": 1}),
    "twice the same": ('{"n": 1} and again {"n": 1}', {"n": 1}),
    "one fits": ('{"wrong": 2} no: {"n": 1}', {"n": 1}),
    "prose and fence": (
        'For {"all": []}:\n```\n{"n": 1}\n```\nSee {"n": 1}.',
        {"n": 1},
    ),
    "fence without": ('```py\nx = {}\n```\n{"n": 1}', {"n": 1}),
    "separator": ('```json\n{"n": 1, "t": "a\u2028b"}\n```', {"n": 1, "t": "a\u2028b"}),
    "64 bits": ('{"n": 9223372036854775807}', {"n": 9223372036854775807}),
}


@pytest.mark.parametrize(("words", "parsed"), ANSWERS.values(), ids=ANSWERS)
def test_the_one_valid_value_is_the_answer(words, parsed):
    assert judge(asked(NUMBER), words) == Judgement(parsed=parsed)


KINDS = ["array", "object", "integer", "boolean", "string", "null"]
FALSY = [[], {}, 0, False, "", None]
FORMS = {
    "bare": "{}",
    "fenced": "So:\n```\n{}\n```\n",
    "in an open fence": "So:\n```\n{}",
}


@pytest.mark.parametrize(("kind", "value"), [*zip(KINDS, FALSY, strict=True)])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_falsy_value_is_an_answer(kind, value, form):
    verdict = judge(asked({"type": kind}), form.format(said(value)))

    assert (verdict.code, verdict.parsed) == (None, value)


@pytest.mark.parametrize("status", ["failed", "blocked"])
def test_a_report_of_trouble_is_a_valid_answer(status):
    verdict = judge(asked(), said({"status": status, "summary": "no access"}))

    assert verdict.is_valid
    assert (verdict.code, verdict.complaint) == (f"agent_{status}", "no access")
    assert verdict.parsed["status"] == status


TWO_VALUES = (
    "the last message holds 2 different JSON values that satisfy the schema; "
    "send exactly one"
)


REJECTED = {
    "nothing": ("", "empty_answer", "the last message was empty"),
    "blank": (" \n\t\ufeff", "empty_answer", "the last message was empty"),
    "bom": ("\ufeff", "empty_answer", "the last message was empty"),
    "prose": ("I did it.", "no_json", "the last message holds no JSON value"),
    "cut": ('{"n": 1', "no_json", "the last message holds no JSON value"),
    "nan": ('{"n": NaN}', "no_json", "NaN is not JSON"),
    "infinity": ('{"n": Infinity}', "no_json", "Infinity is not JSON"),
    "1e400": ('{"n": 1e400}', "no_json", "the number 1e400 is too large"),
    "twice": (
        '{"n": 1, "n": 2}',
        "no_json",
        "the key 'n' stands twice in one JSON object",
    ),
    "large": (
        '{"n": 123456789012345678901234567890}',
        "no_json",
        "the number 123456789012345678901234567890 is too large",
    ),
    "65 bits": (
        '{"n": 18446744073709551616}',
        "no_json",
        "the JSON cannot be stored: Integer exceeds 64-bit range",
    ),
    "surrogate": (
        '{"n": "\\ud800"}',
        "no_json",
        "the JSON cannot be stored: str is not valid UTF-8: surrogates not allowed",
    ),
    "deep": ("[" * 10_000 + "]" * 10_000, "no_json", "the JSON is nested too deeply"),
    "250 deep": (
        "[" * 250 + "]" * 250,
        "no_json",
        "the JSON cannot be stored: Recursion limit reached",
    ),
    "type": ('{"n": "1"}', "schema_mismatch", '$.n: "1" is not of type "integer"'),
    "missing": ('{"m": 1}', "schema_mismatch", '$: "n" is a required property'),
    "array": ("[]", "schema_mismatch", '$: [] is not of type "object"'),
    "two": ('{"n": 1} {"n": 2}', "schema_mismatch", TWO_VALUES),
    "one after a fence": (
        '```\n{"n": 1}\n```\nNo: {"n": 2}',
        "schema_mismatch",
        TWO_VALUES,
    ),
    "one before a fence": (
        '{"n": 1}, or\n~~~\n{"n": 2}\n~~~',
        "schema_mismatch",
        TWO_VALUES,
    ),
    "huge": (
        "x" * 4_000_001,
        "schema_mismatch",
        "the answer has 4,000,001 characters; 4,000,000 is the limit",
    ),
}


@pytest.mark.parametrize(
    ("words", "code", "complaint"), REJECTED.values(), ids=REJECTED
)
def test_error_an_answer_that_does_not_count(words, code, complaint):
    found = judge(asked(NUMBER), words)
    assert (found.code, found.complaint) == (code, complaint)


def test_error_true_is_not_one():
    """They are equal in Python, but two different values in JSON."""
    verdict = judge(asked({"enum": [1, True]}), "[1] [true]")
    two = judge(asked({"type": "array"}), "[1] [true]")

    assert verdict.code == "schema_mismatch"
    assert two.complaint.startswith("the last message holds 2 different JSON values")


PROMPT = (
    "Read bridge/store/store.py from its first line to its last. "
    "Then tell me which of its promises it keeps."
)


ECHOES = {
    "whole": PROMPT,
    "padded": f"  {PROMPT}\n\n",
    "quoted": f"You asked: {PROMPT}",
    "rewrapped": PROMPT.replace(" ", "\n"),
    "with contract": full_prompt(PROMPT, None),
    "the contract": "## How to answer (hostbridge)\n" + said(ANSWER_SCHEMA),
}


@pytest.mark.parametrize("words", ECHOES.values(), ids=ECHOES)
def test_error_an_echo_of_the_prompt(words):
    found = judge(asked(prompt=PROMPT), words)

    assert found._replace(told=None) == Judgement(
        code="prompt_echo",
        complaint="the last message repeats the prompt instead of answering it",
    )


def test_error_an_echo_of_the_example_in_the_prompt():
    prompt = f"{PROMPT} For example: {said(GOOD)}"

    assert judge(asked(prompt=prompt), prompt).code == "prompt_echo"


def test_an_answer_after_the_prompt_counts():
    verdict = judge(asked(prompt=PROMPT), f"{PROMPT}\n\n{said(GOOD)}")

    assert (verdict.code, verdict.parsed["summary"]) == (None, "all of them")
