"""What an ask returns, and which schemas it takes."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from bridge.api.result import Result, result_of, schema_of
from bridge.errors import InvalidRequest
from bridge.protocol.agent_output import AgentOutput, Evidence
from bridge.protocol.judge import judge
from bridge.protocol.request import Request
from bridge.protocol.response import answered
from bridge.protocol.status import Status


class Page(BaseModel):
    title: str


class Point(TypedDict):
    x: int


@dataclass
class Line:
    begin: int
    day: date | None = None


FORMS: dict[str, tuple[Any, Any, Any]] = {
    "model": (Page, {"title": "a"}, Page(title="a")),
    "models": (list[Page], [{"title": "a"}], [Page(title="a")]),
    "typed dict": (Point, {"x": 1}, {"x": 1}),
    "dataclass": (
        Line, {"begin": 1, "day": "2026-01-31"}, Line(1, date(2026, 1, 31))
    ),
    "literal": (Literal["yes", "no"], "no", "no"),
    "none of it": (Page | None, None, None),
    "enum": (Status, "failed", Status.FAILED),
    "set": (frozenset[int], [1, 2], frozenset({1, 2})),
    "ours": (Evidence, {"type": "a", "content": "b"}, Evidence(type="a", content="b")),
    "schema": ({"type": "integer"}, 5, 5),
}  # fmt: skip


@pytest.mark.parametrize(("form", "said", "parsed"), FORMS.values(), ids=FORMS)
def test_every_form_of_an_answer(form, said, parsed):
    """What pydantic can check, an agent can be asked for."""
    result = waited_for(said, schema_of(form), form)

    assert (result.parsed, result.error) == (parsed, None)


@pytest.mark.parametrize("name", sorted(FORMS.keys() - {"schema"}))
def test_error_an_answer_that_its_type_refuses(name):
    result = waited_for({"y": 1}, OPEN, FORMS[name][0])

    assert (result.parsed, result.error.code) == (None, "schema_mismatch")


NOT_FORMS = [3, True, "modules.json", b"x", ["a"], object(), Page(title="a")]
NOT_FORMS += [Line(1), lambda: Page, len, print, Callable, Ellipsis, 10**5000]


@pytest.mark.parametrize("form", NOT_FORMS, ids=lambda form: type(form).__name__)
def test_error_not_a_form(form):
    with pytest.raises(InvalidRequest, match=r"^schema .{0,70}: expected a pydantic"):
        schema_of(form)


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


def waited_for(
    value: object, schema: dict[str, Any] | None, form: object = None
) -> Result[Any]:
    """What a waiter gets that does not pass the schema."""
    request = Request(request_id="a", prompt="?", schema=schema)
    words = json.dumps(value)
    verdict = judge(request, words, now_ms=1)
    assert verdict.is_valid
    response = answered(
        request, raw=words, parsed=verdict.parsed, now_ms=1, route="claude"
    )
    return result_of(response, form)


def test_with_a_schema_of_its_own_nothing_is_verified():
    """An agent wrote `verified: true` itself: a waiter must not believe it."""
    result = waited_for(FORGED, OPEN)

    assert (result.parsed, result.evidence) == (FORGED, ())
    assert result.response.own_form


def test_a_repr_shows_what_counts():
    """In a notebook, where the last line of a cell is shown."""
    result = waited_for({"title": "a"}, {"type": "object"}, Page)

    assert repr(result) == (
        "Result(request_id='a', success=True, parsed=Page(title='a'), route='claude', "
        "model=None, degraded=False, duration_s=0.001, error=None, "
        "cached=False)"
    )
    sealed = result.response.with_(seal="s" * 64, request_digest="d" * 64)
    assert repr(sealed) == (
        "Response(request_id='a', success=True, status=<Status.COMPLETED: 'completed'>,"
        " raw_output='{\"title\": \"a\"}', parsed_output={'title': 'a'}, "
        "own_form=True, completed_at=1, duration=1, route='claude')"
    )


def test_in_the_default_form_the_bridge_decides_what_is_verified():
    result = waited_for(FORGED, None)

    assert isinstance(result.parsed, AgentOutput)
    assert [item.verified for item in result.evidence] == [False]
    assert not result.response.own_form


def test_a_form_that_only_looks_like_the_default_is_returned_unchanged():
    said = {"status": "green", "summary": 5, "evidence": "none"}

    assert waited_for(said, OPEN).parsed == said
