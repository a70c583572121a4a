"""Dedup keys: the same key finds the same request again."""

import json
from typing import Any

import pytest
from storeworld import START_US, answer, claim_all, claimant, drop, path_of, request

from bridge.errors import InvalidRequest
from bridge.protocol.response import failed
from bridge.store import Submitted
from bridge.store.store import Store


def answered(store: Store, **fields: Any) -> None:
    """`a`, asked with the key `k`, has an answer."""
    store.submit(request("a", dedup_key="k"))
    (mine,) = claim_all(store)
    store.publish(answer(mine).with_(**fields), source="test")


def test_the_same_key_finds_the_same_request(store):
    """Waiting, claimed or answered."""
    store.submit(request("a", dedup_key="k"))

    assert store.submit(request("b", dedup_key="k")) == Submitted("a", is_new=False)
    (mine,) = claim_all(store)
    assert store.submit(request("c", dedup_key="k")) == Submitted("a", is_new=False)
    store.publish(answer(mine), source="test")
    assert store.submit(request("c", dedup_key="k")) == Submitted("a", is_new=False)
    assert store.submit(request("d", dedup_key="other")).is_new
    assert store.submit(request("e")).is_new


def test_a_failed_request_may_be_asked_again_with_its_key(store):
    store.submit(request("a", dedup_key="k"))
    (mine,) = claim_all(store)
    store.publish(failed(mine, "agent_error", "it broke", now_ms=5), source="test")

    assert store.submit(request("b", dedup_key="k")) == Submitted("b", is_new=True)
    assert store.submit(request("c", dedup_key="k")) == Submitted("b", is_new=False)


def test_an_overdue_request_may_be_asked_again_with_its_key(store, clock):
    """Nobody may have ended it yet: who joined it would get its timeout at once."""
    store.submit(request("a", dedup_key="k", timeout=1000))
    clock.go_on(1)

    assert store.submit(request("b", dedup_key="k")) == Submitted("b", is_new=True)


SPOILT = [
    b"",
    b"[]",
    b'{"dedupKey": "k", "requestId": "../../../../../etc/hostname"}',
    b'{"dedupKey": "k", "requestId": 5}',
    b'{"dedupKey": "k", "requestId": ' + b"[" * 1000 + b"]" * 1000 + b"}",
    b'{"dedupKey": "other", "requestId": "a"}',
    b'{"dedupKey": "k", "requestId": "never-was"}',
]


@pytest.mark.parametrize("content", SPOILT)
def test_a_spoilt_dedup_file_finds_nothing(store, content):
    store.submit(request("a", dedup_key="k"))
    (path,) = path_of(store, "dedup").iterdir()
    path.write_bytes(content)

    assert store.submit(request("b", dedup_key="k")).is_new


def refused(store: Store, **fields: Any) -> str:
    with pytest.raises(InvalidRequest) as caught:
        store.submit(request("b", dedup_key="k", **fields))
    assert caught.value.request_id == "a"
    assert not path_of(store, "requests", "b").exists()
    return str(caught.value)


def waiting(store: Store) -> None:
    store.submit(request("a", dedup_key="k"))


def claimed(store: Store) -> None:
    waiting(store)
    claim_all(store)


@pytest.mark.parametrize("make", [waiting, claimed, answered])
def test_error_a_key_of_another_question(store, make):
    """Its answer would be the wrong one, and against the asker's own schema."""
    make(store)

    message = refused(store, prompt="Another?", answer_schema={"type": "integer"})

    assert message == (
        "the dedup key 'k' belongs to request a, which asked something else; it "
        "differs in: prompt, schema. Use another key, or see that request with: "
        "hostbridge show a"
    )


def test_error_a_key_of_what_another_route_answered(store):
    """The record is the host's, and the answer that of whoever it fell back to."""
    answered(store, route="local")

    assert "route ('local' there, 'host' here)" in refused(store)
    again = request("b", dedup_key="k")
    assert not store.submit(again, routes=("host", "local")).is_new


def test_an_answer_by_hand_is_one_on_any_route(store):
    answered(store, route="manual")

    assert not store.submit(request("b", dedup_key="k", route="claude")).is_new


def drop_with_key(store: Store, name: str, prompt: str) -> None:
    asked = {"requestId": name, "agentType": "Explore", "prompt": prompt}
    asked |= {"dedupKey": "k", "createdAt": START_US // 1000}
    drop(store, "requests", f"{name}.json", json.dumps(asked))


def test_a_dropped_request_has_its_key_once_it_is_claimed(store):
    drop_with_key(store, "a", "Which?")
    assert [r.request_id for r in claim_all(store)] == ["a"]

    same = request("b", dedup_key="k", prompt="Which?", agent_type="Explore")
    assert store.submit(same) == Submitted("a", is_new=False)
    assert "prompt" in refused(store, agent_type="Explore")


@pytest.mark.parametrize("one", [True, False], ids=["claim_one", "claim"])
@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Which?", "which asks the same: its answer is this one's, too"),
        ("Where?", "which asked something else; it differs in: prompt"),
    ],
)
def test_a_dropped_request_with_the_key_of_another_is_not_worked_on(
    store, prompt, expected, *, one
):
    asked = request("a", dedup_key="k", prompt="Which?", agent_type="Explore")
    store.submit(asked)
    assert [r.request_id for r in claim_all(store)] == ["a"]
    drop_with_key(store, "b", prompt)

    if one:
        assert store.claim_one("b", claimant()) is None
    else:
        assert claim_all(store) == []

    found = store.find("b")
    assert found.response.error.code == "bad_request"
    assert f"the dedup key 'k' belongs to request a, {expected}" in (
        found.response.error.message
    )


def test_a_request_that_waits_again_keeps_its_key(store):
    drop_with_key(store, "a", "Which?")
    (mine,) = claim_all(store)
    store.give_back("a", mine.claim.host, lambda held: held)

    assert [r.request_id for r in claim_all(store)] == ["a"]
