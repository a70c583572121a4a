"""What the journal's line of an end says."""

import pytest
from storeworld import START_US, request, this_process

from bridge.protocol.claim import Claim
from bridge.protocol.end_facts import facts_of_end
from bridge.protocol.response import RunSummary, answered, failed
from bridge.protocol.usage import Usage

ASKED_MS = START_US // 1000
RAN = {
    "type": "tests", "content": "1 passed", "passed": True, "command": "pytest",
    "verified": True,
}  # fmt: skip


def claim(**facts):
    begun = {"session": "s", "host": this_process(), "at": ASKED_MS + 10}
    return Claim(**begun, **facts)


def said(asked, **facts):
    """The facts, without those of which there is nothing to say."""
    facts = {"now_ms": ASKED_MS + 9000, "route": "host", "raw": "", **facts}
    found = facts_of_end(asked, answered(asked, **facts))
    return {name: value for name, value in found.items() if value is not None}


def test_all_that_metrics_need_is_said():
    asked = request(
        "a", agent_type="Explore", model="sonnet", task_id="#7", attempt=1,
        claim=claim(launched_at=ASKED_MS + 500, corrections=2),
    )  # fmt: skip
    parsed = {"status": "success", "summary": "done", "evidence": [RAN]}
    usage = Usage(input_tokens=3, output_tokens=4, requests=1)
    response = answered(
        asked, raw="", parsed=parsed, now_ms=ASKED_MS + 9000, route="host"
    ).with_(usage=usage, degraded=True)

    assert facts_of_end(asked, response) == {
        "code": None, "agent": "Explore", "route": "host", "model": "sonnet",
        "machine": None,
        "durationMs": 9000, "waitMs": 500, "retries": 1, "corrections": 2,
        "verified": True, "degraded": True, "task": "#7",
        "usage": {"inputTokens": 3, "cacheReadTokens": 0, "cacheWriteTokens": 0,
                  "outputTokens": 4, "requests": 1},
    }  # fmt: skip


def test_a_failure_says_its_code_and_nothing_of_evidence():
    asked = request("a")
    response = failed(asked, "timeout", "late", now_ms=ASKED_MS + 9000)

    found = facts_of_end(asked, response)

    facts = [found[name] for name in ("code", "route", "verified", "waitMs")]
    assert facts == ["timeout", "none", None, None]


SCHEMA = {"type": "object"}
SUMMARY = RunSummary(
    model="m", turns=1, tools={}, prompt_tokens=1, cached_tokens=0, tokens=1, duration=1
)


@pytest.mark.parametrize(
    ("schema", "run", "verified"),
    [(None, None, False), (SCHEMA, None, None), (SCHEMA, SUMMARY, False)],
    ids=["default form", "own form", "own form, with a record of the run"],
)
def test_of_an_answer_in_a_form_of_its_own_only_a_run_can_tell(schema, run, verified):
    asked = request("a", answer_schema=schema)
    parsed = {"status": "success", "summary": "done"}
    response = answered(asked, raw="", parsed=parsed, now_ms=ASKED_MS, route="local")

    assert facts_of_end(asked, response.with_(run=run))["verified"] is verified


@pytest.mark.parametrize(
    ("launched_ms", "waited_ms"), [(-5000, 0), (0, 0), (700, 700), (10**9, 9000)]
)
def test_a_wait_is_within_the_duration_however_clocks_are_set(launched_ms, waited_ms):
    asked = request("a", claim=claim(launched_at=ASKED_MS + launched_ms))

    assert said(asked, parsed={})["waitMs"] == waited_ms


def test_texts_from_outside_are_short_and_on_one_line():
    asked = request("a", model="x\x1b[2J\n" * 100, task_id="#1\n" + "y" * 500)

    found = said(asked, parsed={})

    for name in ("model", "task"):
        assert len(found[name]) <= 128
        assert found[name].isprintable()
