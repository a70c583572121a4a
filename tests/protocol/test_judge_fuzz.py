"""Whatever the message, the judge ends soon."""

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples
from words import GOOD, NUMBER, asked, said

from bridge.protocol.agent_output import ANSWER_SCHEMA
from bridge.protocol.json_schema import problem_of
from bridge.protocol.judge import judge

pytestmark = pytest.mark.slow


@given(st.text())
def test_the_judge_takes_any_text(words):
    assert judge(asked(), words).code is not None


@given(st.binary(max_size=200))
def test_the_judge_takes_any_bytes(data):
    words = data.decode("utf-8", "surrogateescape")

    assert judge(asked(NUMBER), words).parsed is None


NEARLY = st.sampled_from([None, True, False, 0, 1, 1.5, "", "a"])


EVIDENCE = st.dictionaries(
    st.sampled_from(["type", "content", "passed", "command", "verified", "x"]), NEARLY
)


OUTPUTS = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["success", "blocked", "done", None, 1]),
        "summary": NEARLY,
        "evidence": NEARLY | st.lists(EVIDENCE | NEARLY, max_size=2),
        "timestamp": NEARLY,
        "x": NEARLY,
    },
)


@settings(max_examples=examples(500))
@given(st.one_of(NEARLY, st.lists(OUTPUTS, max_size=2), OUTPUTS))
def test_the_model_and_the_schema_of_the_default_answer_agree(value):
    """The agent reads the schema; the model checks, since that is faster."""
    by_schema = problem_of(ANSWER_SCHEMA, value)

    by_model = judge(asked(), json.dumps(value)).code == "schema_mismatch"

    assert by_model == (by_schema is not None), by_schema


PIECES = st.sampled_from([*'{}[]":,1\n', "```", "~~~", "\\ud800", "nul", "NaN"])


@settings(max_examples=examples(300))
@given(st.lists(PIECES, max_size=40).map("".join))
def test_the_judge_takes_broken_json(words):
    judge(asked(), words)


def test_an_answer_cut_at_any_byte_is_not_a_success():
    data = said(GOOD | {"evidence": [{"type": "a", "content": "é" * 4}]}).encode()
    for length in range(len(data)):
        cut = data[:length].decode("utf-8", "replace")
        assert not judge(asked(), cut).is_valid, cut


def test_no_keys_and_lists_take_the_judge_long():
    """A session waits for the judge; a hang would meet the time limit of the tests."""
    keys = ", ".join(f'"{n}": 1' for n in range(200_000))
    for words in (f'{{"k": 1, {keys}, "199999": 2}}', "[" * 199 + "1," * 1_000_000):
        judge(asked({"type": "array", "items": {"type": "integer"}}), words)


def calls_to_judge(words: str) -> int:
    """The work that it takes to judge a message, in calls of functions."""
    calls = 0

    def count(_frame, event, _arg):
        nonlocal calls
        calls += event in ("call", "c_call")

    request = asked({"type": "array", "items": {"type": "integer"}})
    judge(request, words)
    sys.setprofile(count)
    try:
        judge(request, words)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    "piece", ["~~~x\n", "```\n", "[", '{"', "{", "\\", "[],", '["a'], ids=repr
)
def test_twice_the_text_is_twice_the_work(piece):
    once, twice = (calls_to_judge(piece * number) for number in (2000, 4000))

    assert twice <= 2.2 * once + 200
