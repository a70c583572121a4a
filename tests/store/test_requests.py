"""Submit, claim, give back: P1 and P2, one process at a time."""

from __future__ import annotations

import json
import os

import pytest
from storeworld import (
    START_US,
    answer,
    claim_all,
    claimant,
    dead_process,
    drop,
    folders_of,
    path_of,
    request,
    take,
    this_process,
    tree,
)

from bridge.errors import InvalidRequest
from bridge.protocol.ids import RequestId, new_request_id
from bridge.protocol.response import failed
from bridge.protocol.status import Status
from bridge.store import Found, Submitted

A = RequestId("a")


def test_what_was_submitted_can_be_found(store):
    asked = request("a", colour="red")

    assert store.submit(asked) == Submitted(A, is_new=True)

    assert store.find(A) == Found(Status.PENDING, asked, None)
    assert json.loads(path_of(store, "requests", "a").read_text())["colour"] == "red"
    assert store.waiting() == ["a"]
    assert store.has_waiting()


def test_a_claim_names_its_holder(store):
    asked = request("a")
    store.submit(asked)

    (mine,) = store.claim(claimant(), 1, take)

    assert mine.claim is not None
    assert (mine.claim.session, mine.claim.host) == ("session-1", this_process())
    assert store.find(A) == Found(Status.PROCESSING, mine, None)
    assert store.claimed() == [mine]
    assert not store.has_waiting()


def test_nobody_else_gets_what_is_claimed(store):
    store.submit(request("a"))
    claim_all(store)

    assert claim_all(store, dead_process()) == []


def test_an_answer_ends_it(store):
    store.submit(request("a"))
    (mine,) = claim_all(store)

    assert store.publish(answer(mine), source="test") is True

    found = store.find(A)
    assert found is not None
    assert found.response is not None
    assert found.status is Status.COMPLETED
    assert found.response.parsed_output == {"status": "success", "summary": "it is so"}
    assert found.request == mine.with_(status=Status.COMPLETED)
    assert folders_of(store, "a") == ["done"]


@pytest.mark.parametrize("folder", ["requests", "processing", "responses", "done"])
def test_error_an_id_is_used_once(store, folder):
    drop(store, folder, "a.json", request("a").to_json())

    with pytest.raises(InvalidRequest) as caught:
        store.submit(request("a"))

    assert (
        str(caught.value) == "request id 'a' was used before; choose another, or none"
    )
    assert caught.value.request_id == "a"
    assert os.listdir(path_of(store, "requests")) in ([], ["a.json"])


def test_error_a_request_that_has_no_json(store):
    with pytest.raises(InvalidRequest) as caught:
        store.submit(request("a").with_(requester="\ud800"))

    assert str(caught.value) == (
        "the request cannot be written as JSON: str is not valid UTF-8: surrogates not "
        "allowed"
    )
    assert "requests/a.json" not in tree(store.place.state)


def test_highest_priority_first_then_the_oldest(store):
    times = [(3, "low"), (2, "normal"), (1, "normal"), (9, "high")]
    ids = [new_request_id(START_US + at, level) for at, level in times]  # type: ignore[arg-type]
    for one in ids:
        store.submit(request(one))

    taken = [store.claim(claimant(), 9, only_one())[0].request_id for _ in ids]

    assert taken == [ids[3], ids[2], ids[1], ids[0]]


def only_one():
    answers = iter(["take"])
    return lambda _: next(answers, "leave")


def test_a_session_takes_no_more_than_its_slots(store):
    for number in range(6):
        store.submit(request(f"r-{number}"))

    assert len(store.claim(claimant(), 4, take)) == 4
    assert store.claim(claimant(), 4, take) == []
    store.publish(answer(store.claimed()[0]), source="test")
    assert len(store.claim(claimant(), 4, take)) == 1


def test_a_request_of_an_agent_has_slots_of_its_own(store):
    """Its parent holds a slot while it waits: both would wait for ever."""
    store.submit(request("parent"))
    claim_all(store)
    for number in range(3):
        store.submit(request(f"other-{number}"))
    store.submit(request("zz-child", depth=1))

    taken = store.claim(claimant(), 1, take)

    assert [r.request_id for r in taken] == ["zz-child"]


def test_a_request_of_an_agent_is_found_behind_urgent_ones(store):
    """Its parent waits for it, and holds the slot that they wait for."""
    store.submit(request("parent"))
    store.claim(claimant(), 1, take)
    for number in range(40):
        urgent = new_request_id(START_US + number, "high")
        store.submit(request(urgent, priority="high"))
    child = new_request_id(START_US + 99, "high")
    store.submit(request(child, priority="high", depth=1))

    taken = store.claim(claimant(), 1, take)

    assert [one.request_id for one in taken] == [child]


def test_a_claimer_may_leave_or_end_a_request(store):
    for name in "abc":
        store.submit(request(name))

    def judge(one):
        end = failed(one, "depth", "too deep", now_ms=5)
        return {"a": "leave", "b": end, "c": "take"}[one.request_id]

    assert [r.request_id for r in store.claim(claimant(), 9, judge)] == ["c"]
    assert store.waiting() == ["a"]
    ended = store.find(RequestId("b"))
    assert ended is not None
    assert (ended.status, ended.response and ended.response.error.code) == (
        "failed",
        "depth",
    )  # type: ignore[union-attr]


def test_a_claim_ends_what_is_overdue(store, clock):
    store.submit(request("a", timeout=5000))
    clock.go_on(5)

    assert claim_all(store) == []

    found = store.find(A)
    assert found is not None
    assert found.response is not None
    assert found.response.error is not None
    assert found.response.error.message == "no answer within 5 s: nobody had taken it"
    assert (found.status, found.response.duration) == (Status.TIMEOUT, 5000)


def test_only_the_holder_changes_its_claim(store):
    store.submit(request("a"))
    claim_all(store)

    def launched(claim):
        return claim.with_(launched_at=7)

    assert store.change_claim(A, dead_process(), launched) is None
    changed = store.change_claim(A, this_process(), launched, event="launched")
    assert changed is not None
    assert changed.claim.launched_at == 7
    assert store.claimed() == [changed]
    assert store.change_claim(RequestId("b"), this_process(), launched) is None


def test_what_is_given_back_waits_again(store):
    store.submit(request("a"))
    claim_all(store)

    assert not store.give_back(A, dead_process(), lambda r: r)
    assert store.give_back(A, this_process(), lambda r: r.with_(declined_by=("s",)))
    assert not store.give_back(A, this_process(), lambda r: r)

    (again,) = claim_all(store)
    assert again.declined_by == ("s",)
    assert store.find(A).status is Status.PROCESSING  # type: ignore[union-attr]
