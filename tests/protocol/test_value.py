"""Values: what is read, what is refused, and that programs can use them as models."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from bridge import AgentOutput, Evidence
from bridge.api.result import schema_of
from bridge.protocol.plain_types import InvalidValue
from bridge.protocol.pydantic_model import model_of
from bridge.protocol.request import Request
from bridge.protocol.value import Value
from bridge.validation.report import Validation

PLAIN = {"requestId": "a", "prompt": "?"}
ODD: list[Any] = [None, 0, -1, 1, 2**60, 1.5, True, "", "7", "a\n", [], ["x"], {}]
FIELDS = [field.json_name for field in Request.fields.values()]

ITEM = {"type": "test", "content": "ok", "exitCode": 0}
ANSWER = {"status": "success", "summary": "done", "taskId": "t", "evidence": [ITEM]}


class Report(BaseModel):
    """A model of a program that uses ours."""

    answer: AgentOutput
    more: list[Evidence] = []


@pytest.mark.parametrize("field", FIELDS)
def test_what_is_read_is_what_the_json_schema_says(field):
    """pydantic, which makes the schema, reads the same; it only converts more."""
    for data in (PLAIN | {field: value} for value in ODD):
        if Request.fits(data):
            found = Request.model_validate(data)
            read = model_of(Request).model_validate(data)
            assert found.model_dump() == read.model_dump()


CLAIM = {"session": "s", "host": {"pid": 1, "startTime": "1", "boot": "b"}, "at": 1}
WRONG: dict[str, tuple[type[Value], Any, str]] = {
    "no object": (Request, [], "the object: expected an object"),
    "text": (Request, {"prompt": 5}, "prompt: expected a string"),
    "surrogate": (Request, {"prompt": "\ud800"}, "prompt: expected valid Unicode"),
    "integer": (Request, {"timeout": "5000"}, "timeout: expected an integer"),
    "fraction": (Request, {"timeout": 1.5}, "timeout: expected an integer"),
    "boolean": (Request, {"approved": 1}, "approved: expected true or false"),
    "null": (Request, {"timeout": None}, "timeout: expected an integer"),
    "object": (Request, {"arguments": []}, "arguments: expected an object"),
    "list": (Request, {"declinedBy": "s"}, "declinedBy: expected a list"),
    "twice": (Request, {"max_attempts": 1, "maxAttempts": 1},
        "maxAttempts: given by both of its names"),
    "in a list": (Request, {"declinedBy": ["s", 1]}, "declinedBy.1: expected a string"),
    "in an object": (Request, {"context": {"a": 1}}, "context.a: expected a string"),
    "a strange name": (Request, {"context": {"a\n\x1b[2J" + "b" * 999: 1}},
        f"context.a [2J{'b' * 146}…: expected a string"),
    "limit": (Request, {"maxAttempts": 101},
        "maxAttempts: must be less than or equal to 100"),
    "in a value": (Request, {"claim": CLAIM | {"at": "1"}},
        "claim.at: expected an integer"),
    "deep in a value": (Request, {"claim": CLAIM | {"host": {}}},
        "claim.host.pid: field required"),
    "choice": (AgentOutput, {"status": 7},
        "status: must be 'success', 'partial', 'failed' or 'blocked'"),
    "one choice": (Request, {"contextFrom": "x"},
        "contextFrom: must be 'session', not 'x'"),
    "number": (Validation, {"verdict": "APPROVED", "durationS": "1"},
        "durationS: expected a number"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "data", "why"), WRONG.values(), ids=WRONG)
def test_error_names_the_place_and_what_was_expected(kind, data, why):
    if kind is Request and isinstance(data, dict):
        data = PLAIN | data

    with pytest.raises(InvalidValue) as caught:
        kind.model_validate(data)

    assert str(caught.value) == why
    assert not kind.fits(data)


def test_a_whole_number_is_an_integer_and_a_number():
    """Programs write 5 as 5.0; other readers of JSON make no difference."""
    asked = Request.model_validate(PLAIN | {"timeout": 5.0})
    seen = Validation.model_validate({"verdict": "APPROVED", "durationS": 1})

    assert repr((asked.timeout, seen.duration_s)) == "(5, 1.0)"


def test_unknown_keys_survive():
    request = Request.model_validate(PLAIN | {"theirs": [1]})

    changed = request.with_(depth=1)

    assert (changed.to_data()["theirs"], changed.model_extra) == ([1], {"theirs": [1]})
    assert AgentOutput.model_validate(ANSWER).evidence[0].exitCode == 0
    with pytest.raises(AttributeError, match="Request has no 'ours'"):
        changed.ours  # noqa: B018


def test_a_value_is_frozen():
    with pytest.raises(AttributeError):
        Request(request_id="a", prompt="?").prompt = "!"
    with pytest.raises(AttributeError, match="cannot delete prompt"):
        del Request(request_id="a", prompt="?").prompt


def test_a_value_can_be_dumped_and_copied_as_a_pydantic_model():
    """Programs that were written for pydantic models keep working."""
    answer = AgentOutput.model_validate(ANSWER)
    item = ITEM | {"passed": None, "command": None, "verified": False}

    assert AgentOutput.model_validate(answer) is answer
    copy = answer.model_copy(update={"summary": "changed"}, deep=True)

    assert AgentOutput.model_validate_json(answer.model_dump_json()) == answer
    with pytest.raises(ValidationError, match="Invalid JSON"):
        AgentOutput.model_validate_json("{")
    whole = {"status": "success", "summary": "done", "task_id": "t"}
    whole |= {"evidence": (item | {"tool_use_id": None},)}
    assert answer.model_dump() == whole | {"agent_id": None, "timestamp": None}
    assert answer.model_dump(mode="json", by_alias=True, exclude_unset=True) == ANSWER
    types = {"evidence": ({"type": "test"},)}
    assert answer.model_dump(include={"evidence": {0: {"type"}}}) == types
    short = AgentOutput(status="failed", summary="no")
    expected = '{"status":"failed","summary":"no"}'
    assert short.model_dump_json(exclude_defaults=True) == expected
    assert answer.model_fields_set == {"status", "summary", "task_id", "evidence"}
    assert copy == answer.with_(summary="changed")
    assert copy.evidence[0] is not answer.evidence[0]
    assert answer.model_copy().evidence[0] is answer.evidence[0]


def test_a_copy_can_get_keys_that_are_no_fields():
    answer = AgentOutput.model_validate(ANSWER | {"theirs": 1})

    copy = answer.model_copy(update={"theirs": 2, "more": 3})

    assert copy.model_extra == {"theirs": 2, "more": 3}
    assert copy.to_data() == answer.to_data() | {"theirs": 2, "more": 3}
    assert answer.model_extra == {"theirs": 1}


@pytest.mark.parametrize("key", ["cls", "self", "_extra", "values", "__deepcopy__"])
def test_a_key_may_have_any_name(key):
    answer = AgentOutput.model_validate(ANSWER | {key: "theirs"})

    assert answer.model_dump()[key] == "theirs"
    assert answer.model_copy(deep=True) == answer
    assert answer.model_copy().to_data()[key] == "theirs"


def test_a_repr_shows_what_was_said():
    """In a notebook: neither what is as usual, nor pages of text."""
    answer = AgentOutput(status="success", summary="x" * 300, theirs=1)

    assert repr(answer) == (
        f"AgentOutput(status='success', summary='{'x' * 200}…', theirs=1)"
    )


def test_a_value_can_be_a_part_of_a_pydantic_model():
    answer = AgentOutput.model_validate(ANSWER)

    report = Report.model_validate({"answer": ANSWER, "more": [ITEM]})

    assert report == Report(answer=answer, more=[Evidence(**ITEM)])
    assert Report.model_validate_json(report.model_dump_json(by_alias=True)) == report
    assert report.model_dump()["more"][0]["exitCode"] == 0
    with pytest.raises(ValidationError) as refused:
        Report.model_validate({"answer": ANSWER | {"evidence": [{"type": 1}]}})
    item = ("answer", "evidence", 0)
    places = [error["loc"] for error in refused.value.errors()]
    assert places == [(*item, "type"), (*item, "content")]


def test_a_value_can_be_the_schema_of_an_answer():
    schema = schema_of(AgentOutput)

    assert schema == AgentOutput.model_json_schema()
    assert set(schema["properties"]) == {
        *("status", "summary", "evidence", "agentId", "taskId", "timestamp")
    }
