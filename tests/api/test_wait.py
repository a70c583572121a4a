"""What a wait returns: for one, for many, and for a key that has an answer."""

import os

import pytest
from pydantic import BaseModel, field_validator
from servingworld import bridge_in

from bridge.api.bridge import Bridge
from bridge.errors import InvalidRequest, NoHost
from bridge.protocol.response import RequestFailed, failed


class Even(BaseModel):
    """A model with a rule that its JSON Schema does not have."""

    number: int

    @field_validator("number")
    @classmethod
    def _is_even(cls, number: int) -> int:
        if number % 2:
            raise ValueError("it is odd")
        return number


@pytest.fixture
def bridge(tmp_path):
    """The bridge of a program that runs inside a session."""
    return bridge_in(tmp_path, host_pid=os.getpid())


def answered(bridge: Bridge, number: int, key: str | None = None) -> str:
    request = bridge.submit("Which?", schema=Even, dedup_key=key)
    bridge.respond(request, f'{{"number": {number}}}')
    return request


def test_an_answer_that_the_model_rejects_stops_no_other(bridge):
    ids = [answered(bridge, number) for number in (1, 2, 3)]

    found = {r.request_id: r for r in bridge.wait(ids, schema=Even, timeout_s=5)}

    assert [found[each].parsed for each in ids] == [None, Even(number=2), None]
    odd = found[ids[0]]
    assert (odd.success, odd.error.code) == (False, "schema_mismatch")
    assert odd.error.message == "number: value error, it is odd"
    assert odd.raw == '{"number": 1}'


def test_error_an_answer_that_the_model_rejects(bridge):
    with pytest.raises(RequestFailed, match="it is odd") as caught:
        bridge.wait(answered(bridge, 1), schema=Even, timeout_s=5)

    assert caught.value.code == "schema_mismatch"
    assert caught.value.response.parsed_output == {"number": 1}


def test_the_answer_of_a_key_is_returned_although_no_host_could_answer(bridge):
    """No session is open, and this one would have to wait for itself."""
    request = answered(bridge, 2, "key")

    result = bridge.ask("Which?", schema=Even, dedup_key="key")

    assert (result.request_id, result.parsed) == (request, Even(number=2))
    with pytest.raises(NoHost):
        bridge.ask("Which?", schema=Even, dedup_key="another")


@pytest.mark.parametrize("code", ["timeout", "cancelled"])
def test_error_the_request_of_a_key_ended_without_an_answer(bridge, code):
    request = bridge.submit("Which?", dedup_key="key")
    asked = bridge.status(request).request
    assert asked is not None
    ended = failed(asked, code, "ended", now_ms=bridge.store.now_ms())
    assert bridge.store.publish(ended, source="test")

    with pytest.raises(NoHost):
        bridge.ask("Which?", dedup_key="key")


def test_error_an_invalid_question_with_an_answered_key(bridge):
    answered(bridge, 2, "key")

    with pytest.raises(InvalidRequest):
        bridge.ask("", dedup_key="key")


@pytest.mark.parametrize("schema", [None, {"type": "object", "required": ["status"]}])
def test_the_task_id_is_returned_whatever_the_schema(bridge, schema):
    words = '{"status": "success", "summary": "done"}'

    request = bridge.submit("Which?", schema=schema, task_id="t-1")
    answered = bridge.respond(request, words)

    assert (answered.task_id, answered.response.task_id) == ("t-1", "t-1")
    assert bridge.wait(request, timeout_s=0).task_id == "t-1"
    ended = bridge.submit("Which?", schema=schema, task_id="t-2")
    assert bridge.cancel(ended)
    found = bridge.status(ended).response
    assert found.task_id == "t-2"
