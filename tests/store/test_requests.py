"""Submit, claim, give back: P1 and P2, one process at a time."""

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
    quarantined,
    request,
    take,
    this_process,
    tree,
)

from bridge.errors import InvalidRequest
from bridge.protocol.ids import new_request_id
from bridge.protocol.response import failed
from bridge.protocol.status import Status
from bridge.store import Found, Submitted, sweep
from bridge.store.claim_next import FEW


def test_what_was_submitted_can_be_found(store):
    asked = request("a", colour="red")

    assert store.submit(asked) == Submitted("a", is_new=True)

    assert store.find("a") == Found(Status.PENDING, asked, None)
    assert json.loads(path_of(store, "requests", "a").read_text())["colour"] == "red"
    assert store.waiting() == ["a"]
    assert store.has_waiting()


def test_whoever_submits_waits_for_the_disk_twice(store, monkeypatch):
    """For the request, and for its name: what else is written can be made again."""
    store.submit(request("a"), fan_out=8)
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)

    store.submit(request("b"), fan_out=8)

    assert len(synced) == 2


def test_a_claim_names_its_holder(store):
    asked = request("a")
    store.submit(asked)

    (mine,) = store.claim(claimant(), 1, take)

    assert (mine.claim.session, mine.claim.host) == ("session-1", this_process())
    assert store.find("a") == Found(Status.PROCESSING, mine, None)
    assert store.claimed() == [mine]
    assert not store.has_waiting()
    assert claim_all(store, dead_process()) == []


def test_an_answer_ends_it(store):
    store.submit(request("a"))
    (mine,) = claim_all(store)

    assert store.publish(answer(mine), source="test") is True

    found = store.find("a")
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


def test_a_session_takes_no_more_than_its_slots(store):
    for number in range(6):
        store.submit(request(f"r-{number}"))

    assert len(store.claim(claimant(), 4, take)) == 4
    assert store.claim(claimant(), 4, take) == []
    store.publish(answer(store.claimed()[0]), source="test")
    assert len(store.claim(claimant(), 4, take)) == 1


def test_a_claimer_may_leave_or_end_a_request(store):
    for name in "abc":
        store.submit(request(name))

    def judge(one):
        end = failed(one, "depth", "too deep", now_ms=5)
        return {"a": "leave", "b": end, "c": "take"}[one.request_id]

    assert [r.request_id for r in store.claim(claimant(), 9, judge)] == ["c"]
    assert store.waiting() == ["a"]
    ended = store.find("b")
    assert (ended.status, ended.response and ended.response.error.code) == (
        "failed",
        "depth",
    )


@pytest.mark.parametrize("late_s", [0, 3_600])
def test_a_claim_ends_what_is_overdue(store, clock, late_s):
    """At its deadline, whenever somebody noticed: nobody waited longer."""
    store.submit(request("a", timeout=5000))
    clock.go_on(5 + late_s)

    assert claim_all(store) == []

    response = store.find("a").response
    assert (response.status, response.duration) == (Status.TIMEOUT, 5000)
    assert response.completed_at == START_US // 1000 + 5000
    assert response.error.message == "no answer within 5 s: nobody had taken it"


def test_only_the_holder_changes_its_claim(store):
    store.submit(request("a"))
    claim_all(store)

    def launched(claim):
        return claim.with_(launched_at=7)

    assert store.change_claim("a", dead_process(), launched) is None
    changed = store.change_claim("a", this_process(), launched, event="launched")
    assert changed.claim.launched_at == 7
    assert store.claimed() == [changed]
    assert store.change_claim("b", this_process(), launched) is None


def test_what_is_given_back_waits_again(store):
    store.submit(request("a"))
    claim_all(store)

    assert not store.give_back("a", dead_process(), lambda r: r)
    assert store.give_back("a", this_process(), lambda r: r.with_(declined_by=("s",)))
    assert not store.give_back("a", this_process(), lambda r: r)

    (again,) = claim_all(store)
    assert again.declined_by == ("s",)
    assert store.find("a").status is Status.PROCESSING


# What changes between two looks, and what a kill left behind


def test_a_broken_file_from_the_future_is_put_aside(store):
    """Its time would otherwise keep it in the queue as still being written."""
    path = drop(store, "requests", "a.json", "{")
    later = START_US / 1e6 + 3600
    os.utime(path, (later, later))

    claim_all(store)

    assert "a.json" in quarantined(store)


def test_an_overdue_request_cannot_be_claimed_by_name(store, clock):
    store.submit(request("a", timeout=1000))
    clock.go_on(2)

    assert store.claim_one("a", claimant()) is None

    assert store.find("a").status is Status.TIMEOUT


def test_a_request_that_vanishes_while_it_is_judged_is_not_claimed(store):
    store.submit(request("a"))

    def removing(asked):
        (store.place.state / "requests" / f"{asked.request_id}.json").unlink()
        return "take"

    assert store.claim(claimant(), 4, removing) == []

    assert os.listdir(store.place.state / "processing") == []


def test_an_answered_request_is_not_changed_by_its_holder(store):
    """A kill after the answer was linked left the request in processing/."""
    store.submit(request("a"))
    [held] = claim_all(store)
    store.publish(answer(held), source="test")
    state = store.place.state
    (state / "done" / "a.json").rename(state / "processing" / "a.json")

    assert store.change_held("a", this_process(), lambda r: r) is None
    assert not store.give_back("a", this_process(), lambda r: r)


def test_an_answer_puts_a_newcomer_with_its_id_aside(store):
    store.submit(request("a"))
    [held] = claim_all(store)
    drop(store, "requests", "a.json", request("a").to_json())

    assert store.publish(answer(held), source="test")

    assert folders_of(store, "a") == ["done"]
    assert quarantined(store) == {"a.json": "the request id was used before"}


def test_what_found_no_slot_is_the_first_when_one_is_free(store):
    """It is passed over only as long as all slots are taken."""
    store.submit(request("parent"))
    [parent] = claim_all(store)
    ids = [new_request_id(START_US + n, "high") for n in range(FEW + 10)]
    for one in ids:
        asked = request(one, priority="high")
        drop(store, "requests", f"{one}.json", asked.to_json())
    assert store.claim(claimant(), 1, take) == []

    store.publish(answer(parent), source="test")

    [taken] = store.claim(claimant(), 1, take)
    assert taken.request_id == ids[0]


def test_sweeps_that_are_cut_short_begin_in_different_places(store, clock, monkeypatch):
    """Each waiting request comes round, however little time a sweep has."""
    monkeypatch.setattr(sweep, "HELD_S", 0)
    for name in "abc":
        store.submit(request(name, timeout=1000))
    clock.go_on(2)
    began: list[str] = []
    real = sweep._sweep_unbegun

    def looked(_state, name):
        began.append(name)
        clock.go_on(1)
        return False

    monkeypatch.setattr(sweep, "_sweep_unbegun", looked)
    for _ in range(6):
        clock.set_wall(0.000001)
        store.sweep(everything=True, limit_s=0.5)
    monkeypatch.setattr(sweep, "_sweep_unbegun", real)

    assert set(began) == {"a", "b", "c"}
