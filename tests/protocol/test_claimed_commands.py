"""Whether an answer rests on commands that were seen to run."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.protocol.agent_output import Evidence
from bridge.protocol.claimed_commands import rests_on_evidence
from bridge.protocol.response import Response, RunSummary


def ran(command: str = "pytest", **fields: Any) -> Evidence:
    return Evidence(
        **{
            "type": "command",
            "content": "exit code 0",
            "command": command,
            "passed": True,
            "verified": True,
            "tool_use_id": "call-1",
            **fields,
        }
    )


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
    return Response(
        request_id="a",
        success=True,
        status="completed",  # type: ignore[arg-type]
        completed_at=1,
        duration=1,
        route="local",
        degraded=True,
        **fields,
    )


@pytest.mark.parametrize("own_form", [True, False])
@pytest.mark.parametrize("name", SEEN)
def test_evidence_of_our_own_loop(name, *, own_form):
    evidence, rests = SEEN[name]
    run = RunSummary(
        model="m",
        turns=1,
        tools={},
        prompt_tokens=1,
        cached_tokens=0,
        tokens=1,
        duration=1,
        evidence=tuple(evidence),
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
