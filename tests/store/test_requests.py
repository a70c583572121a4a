"""Submit, claim, give back: P1 and P2, one process at a time."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from storeworld import (
    START_US,
    FakeClock,
    answer,
    claim_all,
    claimant,
    dead_process,
    drop,
    finish_everything,
    path_of,
    quarantined,
    request,
    rooms_of,
    take,
    this_process,
    tree,
)

from bridge.errors import InvalidRequest
from bridge.protocol.ids import RequestId, new_request_id
from bridge.protocol.response import failed
from bridge.protocol.status import Status
from bridge.store import Found, Submitted

if TYPE_CHECKING:
    from bridge.store.files import FileStore

A = RequestId("a")


def test_what_was_submitted_can_be_found(store: FileStore):
    asked = request("a", colour="red")

    assert store.submit(asked) == Submitted(A, is_new=True)

    assert store.find(A) == Found(Status.PENDING, asked, None)
    assert json.loads(path_of(store, "requests", "a").read_text())["colour"] == "red"
    assert store.waiting() == ["a"]
    assert store.has_waiting()


def test_a_claim_names_its_holder(store: FileStore):
    asked = request("a")
    store.submit(asked)

    (mine,) = store.claim(claimant(), 1, take)

    assert mine.claim is not None
    assert (mine.claim.session, mine.claim.host) == ("session-1", this_process())
    assert store.find(A) == Found(Status.PROCESSING, mine, None)
    assert store.claimed() == [mine]
    assert not store.has_waiting()


def test_nobody_else_gets_what_is_claimed(store: FileStore):
    store.submit(request("a"))
    claim_all(store)

    assert claim_all(store, dead_process()) == []


def test_an_answer_ends_it(store: FileStore):
    store.submit(request("a"))
    (mine,) = claim_all(store)

    assert store.publish(answer(mine), source="test") is True

    found = store.find(A)
    assert found is not None
    assert found.response is not None
    assert found.status is Status.COMPLETED
    assert found.response.parsed_output == {"status": "success", "summary": "it is so"}
    assert found.request == mine.with_(status=Status.COMPLETED)
    assert rooms_of(store, "a") == ["done"]


@pytest.mark.parametrize("room", ["requests", "processing", "responses", "done"])
def test_error_an_id_is_used_once(store: FileStore, room: str):
    drop(store, room, "a.json", request("a").to_json())

    with pytest.raises(InvalidRequest) as caught:
        store.submit(request("a"))

    assert str(caught.value) == "request id 'a' was used before"
    assert caught.value.request_id == "a"
    assert os.listdir(path_of(store, "requests")) in ([], ["a.json"])


def test_error_a_request_that_has_no_json(store: FileStore):
    with pytest.raises(InvalidRequest) as caught:
        store.submit(request("a").with_(requester="\ud800"))

    assert str(caught.value) == (
        "the request cannot be written as JSON: str is not valid UTF-8: surrogates not "
        "allowed"
    )
    assert "requests/a.json" not in tree(store.place.state)


def test_highest_priority_first_then_the_oldest(store: FileStore):
    times = [(3, "low"), (2, "normal"), (1, "normal"), (9, "high")]
    ids = [new_request_id(START_US + at, level) for at, level in times]  # type: ignore[arg-type]
    for one in ids:
        store.submit(request(one))

    taken = [store.claim(claimant(), 9, only_one())[0].request_id for _ in ids]

    assert taken == [ids[3], ids[2], ids[1], ids[0]]


def only_one():
    answers = iter(["take"])
    return lambda _: next(answers, "leave")


def test_a_session_takes_no_more_than_its_slots(store: FileStore):
    for number in range(6):
        store.submit(request(f"r-{number}"))

    assert len(store.claim(claimant(), 4, take)) == 4
    assert store.claim(claimant(), 4, take) == []
    store.publish(answer(store.claimed()[0]), source="test")
    assert len(store.claim(claimant(), 4, take)) == 1


def test_a_request_of_an_agent_has_slots_of_its_own(store: FileStore):
    """Its parent holds a slot while it waits: both would wait for ever."""
    store.submit(request("parent"))
    claim_all(store)
    for number in range(3):
        store.submit(request(f"other-{number}"))
    store.submit(request("zz-child", depth=1))

    taken = store.claim(claimant(), 1, take)

    assert [r.request_id for r in taken] == ["zz-child"]


def test_a_request_of_an_agent_is_found_behind_urgent_ones(store: FileStore):
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


def test_a_claimer_may_leave_or_end_a_request(store: FileStore):
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


def test_a_claim_ends_what_is_overdue(store: FileStore, clock: FakeClock):
    store.submit(request("a", timeout=5000))
    clock.go_on(5)

    assert claim_all(store) == []

    found = store.find(A)
    assert found is not None
    assert found.response is not None
    assert found.response.error is not None
    assert found.response.error.message == "no answer within 5 s; stage: waiting"
    assert (found.status, found.response.duration) == (Status.TIMEOUT, 5000)


def test_only_the_holder_changes_its_claim(store: FileStore):
    store.submit(request("a"))
    claim_all(store)

    def launched(claim):
        return claim.model_copy(update={"launched_at": 7})

    assert store.change_claim(A, dead_process(), launched) is None
    changed = store.change_claim(A, this_process(), launched, event="launched")
    assert changed is not None
    assert changed.claim.launched_at == 7
    assert store.claimed() == [changed]
    assert store.change_claim(RequestId("b"), this_process(), launched) is None


def test_what_is_given_back_waits_again(store: FileStore):
    store.submit(request("a"))
    claim_all(store)

    assert not store.give_back(A, dead_process(), lambda r: r)
    assert store.give_back(A, this_process(), lambda r: r.with_(declined_by=("s",)))
    assert not store.give_back(A, this_process(), lambda r: r)

    (again,) = claim_all(store)
    assert again.declined_by == ("s",)
    assert store.find(A).status is Status.PROCESSING  # type: ignore[union-attr]


# Dedup keys


def test_the_same_key_finds_the_running_request(store: FileStore):
    store.submit(request("a", dedup_key="k"))

    assert store.submit(request("b", dedup_key="k")) == Submitted(A, is_new=False)
    claim_all(store)
    assert store.submit(request("c", dedup_key="k")) == Submitted(A, is_new=False)
    assert store.submit(request("d", dedup_key="other")).is_new
    assert store.submit(request("e")).is_new


def test_the_same_key_finds_the_answered_request(store: FileStore):
    store.submit(request("a", dedup_key="k"))
    (mine,) = claim_all(store)
    store.publish(answer(mine), source="test")

    assert store.submit(request("b", dedup_key="k")) == Submitted(A, is_new=False)


def test_a_failed_request_may_be_asked_again_with_its_key(store: FileStore):
    store.submit(request("a", dedup_key="k"))
    (mine,) = claim_all(store)
    store.publish(failed(mine, "agent_error", "it broke", now_ms=5), source="test")

    assert store.submit(request("b", dedup_key="k")) == Submitted(
        RequestId("b"), is_new=True
    )
    assert store.submit(request("c", dedup_key="k")) == Submitted(
        RequestId("b"), is_new=False
    )


def test_an_overdue_request_may_be_asked_again_with_its_key(
    store: FileStore, clock: FakeClock
):
    """Nobody may have ended it yet: who joined it would get its timeout at once."""
    store.submit(request("a", dedup_key="k", timeout=1000))
    clock.go_on(1)

    assert store.submit(request("b", dedup_key="k")) == Submitted(
        RequestId("b"), is_new=True
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"dedupKey": "k", "requestId": "../../../../../etc/hostname"}',
        b'{"dedupKey": "k", "requestId": 5}',
        b'{"dedupKey": "k", "requestId": ' + b"[" * 1000 + b"]" * 1000 + b"}",
        b'{"dedupKey": "other", "requestId": "a"}',
        b'{"dedupKey": "k", "requestId": "never-was"}',
    ],
)
def test_a_spoilt_dedup_file_finds_nothing(store: FileStore, content: bytes):
    store.submit(request("a", dedup_key="k"))
    (path,) = path_of(store, "dedup").iterdir()
    path.write_bytes(content)

    assert store.submit(request("b", dedup_key="k")).is_new


@pytest.mark.parametrize("what", ["link", "folder", "fifo"])
def test_something_else_in_place_of_a_dedup_file_finds_nothing(
    store: FileStore, what: str
):
    store.submit(request("a", dedup_key="k"))
    (path,) = path_of(store, "dedup").iterdir()
    path.unlink()
    if what == "link":
        path.symlink_to("/etc/hostname")
    elif what == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)

    assert store.submit(request("b", dedup_key="k")).is_new
    assert not store.submit(request("c", dedup_key="k")).is_new


# Written by hand


SMALLEST = {"requestId": "a", "agentType": "Explore", "prompt": "Why?"}


def test_a_hand_written_request_is_served(store: FileStore):
    path = drop(store, "requests", "a.json", json.dumps(SMALLEST))
    os.utime(path, (START_US / 1e6 - 10, START_US / 1e6 - 10))

    (mine,) = claim_all(store)

    assert (mine.agent_type, mine.prompt) == ("Explore", "Why?")
    assert mine.created_at == START_US // 1000 - 10_000
    assert store.publish(answer(mine), source="test")
    found = store.find(A)
    assert found is not None
    assert found.status is Status.COMPLETED


def test_a_hand_written_file_from_the_future_is_served(store: FileStore):
    path = drop(store, "requests", "a.json", json.dumps(SMALLEST))
    os.utime(path, (START_US / 1e6 + 86_400, START_US / 1e6 + 86_400))

    (mine,) = claim_all(store)

    assert mine.created_at == START_US // 1000


def test_what_a_file_says_of_its_claim_and_status_is_void(store: FileStore):
    claim = {"session": "s", "at": 1, "host": {"pid": 1, "startTime": "1", "boot": "b"}}
    lie = SMALLEST | {
        "claim": claim,
        "status": "completed",
        "createdAt": START_US // 1000,
    }
    drop(store, "requests", "a.json", json.dumps(lie))

    assert store.find(A).status is Status.PENDING  # type: ignore[union-attr]
    assert [r.request_id for r in claim_all(store)] == ["a"]


@pytest.mark.parametrize("content", ["", '{"requestId": "a", "pro', "\0" * 100])
def test_a_half_written_file_is_given_two_seconds(
    store: FileStore, clock: FakeClock, content: str
):
    path = drop(store, "requests", "a.json", content)
    os.utime(path, (START_US / 1e6, START_US / 1e6))

    clock.go_on(1.9)
    assert claim_all(store) == []
    assert path.exists()

    clock.go_on(0.2)
    assert claim_all(store) == []
    assert not path.exists()
    assert list(quarantined(store)) == ["a.json"]


def test_a_file_that_is_finished_in_time_is_served(store: FileStore):
    path = drop(store, "requests", "a.json", '{"requestId": "a", "pro')
    os.utime(path, (START_US / 1e6, START_US / 1e6))
    assert claim_all(store) == []

    path.write_text(json.dumps(SMALLEST | {"timeout": 10**11}))

    assert len(claim_all(store)) == 1


DEEP = '{"a":' * 300 + "{}" + "}" * 300


@pytest.mark.parametrize("room", ["requests", "processing", "responses", "done"])
@pytest.mark.parametrize(
    "field",
    [f'"schema": {DEEP}', f'"parsedOutput": {DEEP}', f'"attempt": "{"9" * 30}"'],
    ids=["deep schema", "deep answer", "endless number"],
)
def test_a_file_that_could_not_be_written_again_stops_nobody(
    store: FileStore, room: str, field: str
):
    """Whoever met it failed, each time, with all that waited behind it."""
    store.submit(request("good"))
    head = '"requestId": "a", "prompt": "?", "success": true, "status": "completed"'
    tail = '"completedAt": 1, "duration": 1, "route": "host"'
    drop(store, room, "a.json", f"{{{head}, {tail}, {field}}}")

    store.sweep(everything=True)
    claim_all(store)
    store.prune(older_than_days=0)

    assert "good" in {held.request_id for held in store.claimed()}
    assert "good" in finish_everything(store)


def test_looking_puts_nothing_aside(store: FileStore):
    """Without the lock the name may by then belong to another file."""
    path = drop(store, "requests", "a.json", "{")

    assert store.find(A) is None
    assert store.waiting() == []
    assert path.exists()


def test_what_is_put_aside_is_kept_byte_for_byte(store: FileStore):
    drop(store, "requests", "a.json", b"\xff\0 not a request")

    claim_all(store)

    (kept,) = path_of(store, "quarantine").glob("a.json.*[!n]")
    assert kept.read_bytes() == b"\xff\0 not a request"
    reason = json.loads((kept.parent / f"{kept.name}.reason").read_text())
    assert reason["from"] == str(path_of(store, "requests", "a"))
    assert reason["reason"].startswith("not JSON: ")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("b c.json", "the file name is not a request id"),
        ("\udcff\udcfe.json", "the file name is not a request id"),
        ("x" * 200 + ".json", "the file name is not a request id"),
        ("été.json", "the file name is not a request id"),
        ("b.json", "requestId is 'a', unlike the name"),
        ("A.json", "requestId is 'a', unlike the name"),
    ],
    ids=["space", "not utf-8", "long", "accents", "other id", "case twin"],
)  # fmt: skip
def test_error_a_name_that_does_not_fit(store: FileStore, name: str, why: str):
    drop(store, "requests", name, json.dumps(SMALLEST))

    assert claim_all(store) == []

    assert list(quarantined(store).values()) == [why]
    assert os.listdir(path_of(store, "requests")) == []


def test_a_newcomer_with_a_used_id_is_put_aside(store: FileStore):
    store.submit(request("a", prompt="the first"))
    (mine,) = claim_all(store)
    drop(store, "requests", "a.json", json.dumps(SMALLEST))

    assert claim_all(store) == []
    assert quarantined(store) == {"a.json": "the request id was used before"}
    store.publish(answer(mine), source="test")
    drop(store, "requests", "a.json", json.dumps(SMALLEST))
    assert store.sweep(everything=True) == 1

    found = store.find(A)
    assert found is not None
    assert found.request is not None
    assert found.request.prompt == "the first"


# Versions


def test_a_newer_request_is_left_alone(store: FileStore):
    """An older hostbridge must not take, end or lose what a newer one wrote."""
    newer = json.dumps(SMALLEST | {"schemaVersion": 2})
    for room in ("requests", "processing", "done"):
        drop(store, room, f"{room}-1.json", newer)

    assert claim_all(store) == []
    store.sweep(everything=True)
    store.prune(older_than_days=0)

    for room in ("requests", "processing"):
        assert (path_of(store, room) / f"{room}-1.json").read_text() == newer
