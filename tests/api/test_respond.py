"""An answer by hand: what is checked of it, and what is not."""

import json

import pytest
from storeworld import claimant, request, store_in, take

from bridge.api.respond import respond
from bridge.errors import InvalidRequest
from bridge.protocol.ids import RequestId
from bridge.store import Found
from bridge.store.store import Store

A = RequestId("a")


@pytest.fixture
def store(tmp_path):
    made = store_in(tmp_path)
    made.submit(request("a", agent_type="validation-runner"))
    return made


def found(store: Store) -> Found:
    there = store.find(A)
    assert there is not None
    return there


def test_a_person_need_not_show_evidence(store):
    """This agent must; what a person claims counts, but is not verified."""
    words = {
        "status": "success",
        "summary": "I ran it",
        "evidence": [{"type": "t", "content": "c", "command": "pytest -q"}],
    }

    result = respond(store, found(store), json.dumps(words))

    assert (result.success, result.route) == (True, "manual")
    assert [item.verified for item in result.evidence] == [False]


def test_error_not_in_the_form_of_an_answer(store):
    with pytest.raises(InvalidRequest) as caught:
        respond(store, found(store), "I ran it.")

    assert str(caught.value).startswith("not an answer to request a: ")
    assert found(store).response is None


def test_error_an_agent_is_at_work(store):
    store.claim(claimant(), 1, take)

    with pytest.raises(InvalidRequest, match="an open session is working on request a"):
        respond(store, found(store), "{}")
