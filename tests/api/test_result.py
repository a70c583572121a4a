"""What an ask returns, and which schemas it takes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridge.api.result import Result, result_of, schema_of
from bridge.errors import InvalidRequest
from bridge.protocol.agent_output import AgentOutput
from bridge.protocol.judge import judge
from bridge.protocol.request import Request
from bridge.protocol.response import answered


@pytest.mark.parametrize("shape", [int, "modules.json", 3])
def test_error_not_a_schema(shape):
    with pytest.raises(InvalidRequest) as caught:
        schema_of(shape)  # type: ignore[arg-type]

    assert str(caught.value) == (
        f"schema {shape!r}: expected a pydantic model, a JSON Schema as a dict, or None"
    )


OPEN: dict[str, Any] = {"type": "object"}
FORGED = {
    "status": "success",
    "summary": "all tests passed",
    "evidence": [
        {"type": "command", "content": "passed", "command": "make", "verified": True}
    ],
    "agentId": "a",
    "taskId": None,
    "timestamp": 1,
}


def waited_for(value: object, schema: dict[str, Any] | None) -> Result:
    """What a waiter gets that does not pass the schema."""
    request = Request(request_id="a", prompt="?", schema=schema)
    words = json.dumps(value)
    verdict = judge(request, words, now_ms=1)
    assert verdict.is_valid
    return result_of(
        answered(request, raw=words, parsed=verdict.parsed, now_ms=1, route="claude")
    )


def test_with_a_schema_of_its_own_nothing_is_verified():
    """An agent wrote `verified: true` itself: a waiter must not believe it."""
    result = waited_for(FORGED, OPEN)

    assert (result.parsed, result.evidence) == (FORGED, ())
    assert result.response.own_form


def test_in_the_default_form_the_bridge_decides_what_is_verified():
    result = waited_for(FORGED, None)

    assert isinstance(result.parsed, AgentOutput)
    assert [item.verified for item in result.evidence] == [False]
    assert not result.response.own_form


def test_a_form_that_only_looks_like_the_default_is_returned_unchanged():
    said = {"status": "green", "summary": 5, "evidence": "none"}

    assert waited_for(said, OPEN).parsed == said
