"""Files that somebody else wrote: served, put aside, or left alone."""

import json
import os

import pytest
from storeworld import (
    START_US,
    answer,
    claim_all,
    drop,
    finish_everything,
    path_of,
    quarantined,
    request,
)

from bridge.protocol.status import Status

SMALLEST = {"requestId": "a", "agentType": "Explore", "prompt": "Why?"}


def test_a_hand_written_request_is_served(store):
    path = drop(store, "requests", "a.json", json.dumps(SMALLEST))
    os.utime(path, (START_US / 1e6 - 10, START_US / 1e6 - 10))

    (mine,) = claim_all(store)

    assert (mine.agent_type, mine.prompt) == ("Explore", "Why?")
    assert mine.created_at == START_US // 1000 - 10_000
    assert store.publish(answer(mine), source="test")
    assert store.find("a").status is Status.COMPLETED


def test_what_a_file_says_of_its_claim_and_status_is_void(store):
    claim = {"session": "s", "at": 1, "host": {"pid": 1, "startTime": "1", "boot": "b"}}
    lie = SMALLEST | {
        "claim": claim,
        "status": "completed",
        "createdAt": START_US // 1000,
    }
    drop(store, "requests", "a.json", json.dumps(lie))

    assert store.find("a").status is Status.PENDING
    assert [r.request_id for r in claim_all(store)] == ["a"]


@pytest.mark.parametrize("content", ["", '{"requestId": "a", "pro', "\0" * 100])
def test_a_half_written_file_is_given_two_seconds(store, clock, content):
    path = drop(store, "requests", "a.json", content)
    os.utime(path, (START_US / 1e6, START_US / 1e6))

    clock.go_on(1.9)
    assert claim_all(store) == []
    assert path.exists()

    clock.go_on(0.2)
    assert claim_all(store) == []
    assert not path.exists()
    assert list(quarantined(store)) == ["a.json"]


def test_a_file_that_is_finished_in_time_is_served(store):
    path = drop(store, "requests", "a.json", '{"requestId": "a", "pro')
    os.utime(path, (START_US / 1e6, START_US / 1e6))
    assert claim_all(store) == []

    path.write_text(json.dumps(SMALLEST | {"timeout": 10**11}))

    assert len(claim_all(store)) == 1


DEEP = '{"a":' * 300 + "{}" + "}" * 300


@pytest.mark.parametrize("folder", ["requests", "processing", "responses", "done"])
@pytest.mark.parametrize(
    "field",
    [f'"schema": {DEEP}', f'"parsedOutput": {DEEP}', f'"attempt": "{"9" * 30}"'],
    ids=["deep schema", "deep answer", "endless number"],
)
def test_a_file_that_could_not_be_written_again_stops_nobody(store, folder, field):
    """Whoever met it failed, each time, with all that waited behind it."""
    store.submit(request("good"))
    head = '"requestId": "a", "prompt": "?", "success": true, "status": "completed"'
    tail = '"completedAt": 1, "duration": 1, "route": "host"'
    drop(store, folder, "a.json", f"{{{head}, {tail}, {field}}}")

    store.sweep(everything=True)
    claim_all(store)
    store.prune(older_than_days=0)

    assert "good" in {held.request_id for held in store.claimed()}
    assert "good" in finish_everything(store)


def test_looking_puts_nothing_aside(store):
    """Without the lock the name may by then belong to another file."""
    path = drop(store, "requests", "a.json", "{")

    assert store.find("a") is None
    assert store.waiting() == []
    assert path.exists()


def test_what_is_put_aside_is_kept_byte_for_byte(store):
    drop(store, "requests", "a.json", b"\xff\0 not a request")

    claim_all(store)

    (kept,) = path_of(store, "quarantine").glob("a.json.*[!n]")
    assert kept.read_bytes() == b"\xff\0 not a request"
    reason = json.loads((kept.parent / f"{kept.name}.reason").read_text())
    assert reason["from"] == str(path_of(store, "requests", "a"))
    assert reason["reason"].startswith("not JSON: ")


BAD_NAMES = [
    ("b c.json", "the file name is not a request id"),
    ("\udcff\udcfe.json", "the file name is not a request id"),
    ("x" * 200 + ".json", "the file name is not a request id"),
    ("été.json", "the file name is not a request id"),
    ("b.json", "requestId is 'a', unlike the name"),
    ("A.json", "requestId is 'a', unlike the name"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "why"),
    BAD_NAMES,
    ids=["space", "not utf-8", "long", "accents", "other id", "case twin"],
)
def test_error_a_name_that_does_not_fit(store, name, why):
    drop(store, "requests", name, json.dumps(SMALLEST))

    assert claim_all(store) == []

    assert list(quarantined(store).values()) == [why]
    assert os.listdir(path_of(store, "requests")) == []


def test_a_newcomer_with_a_used_id_is_put_aside(store):
    store.submit(request("a", prompt="the first"))
    (mine,) = claim_all(store)
    drop(store, "requests", "a.json", json.dumps(SMALLEST))

    assert claim_all(store) == []
    assert quarantined(store) == {"a.json": "the request id was used before"}
    store.publish(answer(mine), source="test")
    drop(store, "requests", "a.json", json.dumps(SMALLEST))
    assert store.sweep(everything=True) == 1

    assert store.find("a").request.prompt == "the first"


# Versions


def test_a_newer_request_is_left_alone(store):
    """An older hostbridge must not take, end or lose what a newer one wrote."""
    newer = json.dumps(SMALLEST | {"schemaVersion": 2})
    for folder in ("requests", "processing", "done"):
        drop(store, folder, f"{folder}-1.json", newer)

    assert claim_all(store) == []
    store.sweep(everything=True)
    store.prune(older_than_days=0)

    for folder in ("requests", "processing"):
        assert (path_of(store, folder) / f"{folder}-1.json").read_text() == newer
