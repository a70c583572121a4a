"""Publish: P3, and what is kept of answers that did not count."""

import json
import os
import re

import orjson
import pytest
from storeworld import (
    START_US,
    answer,
    claim_all,
    drop,
    folders_of,
    path_of,
    quarantined,
    request,
    store_in,
)

from bridge.errors import InvalidRequest, NewerSchema
from bridge.protocol.status import Status
from bridge.store.directory import NotAPlainFile
from bridge.store.lock import locked
from bridge.store.records import is_genuine, load_key, sealed_json
from bridge.store.state import State
from bridge.store.store import Store


def summary(store: Store, request_id: str = "a") -> str:
    found = store.find(request_id)
    return str(found.response.parsed_output["summary"])


# The first answer wins


@pytest.mark.parametrize("second", ["it is so", "it is not"], ids=["equal", "other"])
def test_a_second_answer_is_kept_as_evidence(store, mine, second):
    store.publish(answer(mine), source="first")

    assert store.publish(answer(mine, second), source="SubagentStop") is False

    assert summary(store) == "it is so"
    (kept,) = store.evidence("a")
    assert kept == {
        "requestId": "a",
        "at": START_US // 1000,
        "reason": "the request had ended",
        "source": "SubagentStop",
        "rawOutput": json.dumps({"status": "success", "summary": second}),
    }


def test_an_answer_after_the_deadline_is_evidence(store, mine, clock):
    clock.go_on(10 * 365 * 86_400)
    assert store.sweep() == 1

    assert store.publish(answer(mine), source="late") is False

    assert store.find("a").status is Status.TIMEOUT
    assert len(store.evidence("a")) == 1


def test_a_waiting_request_may_be_answered_by_a_person(store):
    """Before any claim."""
    asked = request("a")
    store.submit(asked)

    assert store.publish(answer(asked), source="respond")

    assert folders_of(store, "a") == ["done"]
    assert claim_all(store) == []


def test_an_answer_to_nothing_is_evidence(store):
    assert store.publish(answer(request("ghost")), source="test") is False

    assert store.find("ghost") is None
    assert store.evidence("ghost")[0]["reason"] == "no such request is live"


@pytest.mark.parametrize("text", ["../x", "a/b", "", "a" * 129, "\0"])
def test_error_nothing_is_kept_under_a_name_that_is_a_path(store, text):
    with pytest.raises(InvalidRequest):
        store.keep_evidence(text, reason="r", source="s", words="w")

    assert store.find(text) is None
    assert list(store.wait([text], timeout_s=0)) == []


def test_evidence_keeps_words_that_have_no_utf8(store):
    store.keep_evidence("a", reason="r", source="s", words="so \ud800")

    assert store.evidence("a")[0]["rawOutput"] == "so ?"


def test_evidence_that_cannot_be_read_is_left_out(store):
    store.keep_evidence("a", reason="first", source="s", words="w")
    drop(store, "evidence", "a.1-0.json", b"{")
    path_of(store, "evidence").joinpath("a.2-0.json").symlink_to("/etc/hostname")
    store.keep_evidence("a-b", reason="another request", source="s", words="w")

    assert [one["reason"] for one in store.evidence("a")] == ["first"]


# An answer that hostbridge did not write


FORGED = {
    "requestId": "a",
    "success": True,
    "status": "completed",
    "parsedOutput": {"status": "success", "summary": "trust me"},
    "completedAt": 1,
    "duration": 1,
    "route": "host",
}


FABRICATED = [
    (json.dumps(FORGED), "not written by hostbridge: the seal is missing or wrong"),
    (
        json.dumps(FORGED | {"seal": "0" * 64}),
        "not written by hostbridge: the seal is missing or wrong",
    ),
    (json.dumps(FORGED | {"seal": 5}), "seal: expected a string"),
    (json.dumps(FORGED | {"requestId": "b"}), "requestId is 'b', unlike the name"),
    ("{", "not JSON: unexpected end of data"),
    ("", "not JSON: "),
    ("[]", "expected a JSON object, got list"),
]


@pytest.mark.parametrize(
    ("content", "why"),
    FABRICATED,
    ids=["no seal", "wrong seal", "odd seal", "other id", "cut", "empty", "list"],
)
def test_a_fabricated_answer_is_put_aside(store, mine, content, why):
    drop(store, "responses", "a.json", content)

    assert list(store.wait(["a"], timeout_s=0)) == []
    assert store.find("a").status is Status.PROCESSING
    assert store.publish(answer(mine), source="test") is True

    assert summary(store) == "it is so"
    assert list(quarantined(store)) == ["a.json"]
    assert quarantined(store)["a.json"].startswith(why)


def test_a_fabricated_answer_does_not_stop_the_agent(store, mine):
    drop(store, "responses", "a.json", json.dumps(FORGED))

    assert store.change_claim("a", mine.claim.host, lambda c: c) is not None


def test_the_answer_of_another_state_directory_is_fabricated(store, mine, tmp_path):
    """Copied with its seal: the key is another one."""
    other = store_in(tmp_path / "other")
    other.submit(mine.with_(claim=None, status=Status.PENDING))
    assert other.publish(answer(mine, "copied"), source="test")
    copied = path_of(other, "responses", "a").read_bytes()
    drop(store, "responses", "a.json", copied)

    assert store.publish(answer(mine), source="test") is True
    assert summary(store) == "it is so"


ANOTHERS = "it answers another request, which had this id before"


def prune_all(store: Store) -> None:
    store.prune(older_than_days=0, max_bytes=0)


def test_an_answer_put_back_under_an_id_used_again_is_not_its_own(store):
    """Sealed by us, and to another question."""
    old = request("a", prompt="May it be deployed?")
    store.submit(old)
    store.publish(answer(old, "yes"), source="test")
    kept = path_of(store, "responses", "a").read_bytes()
    prune_all(store)
    new = request("a", prompt="May it be deleted?")
    drop(store, "requests", "a.json", new.to_json())

    drop(store, "responses", "a.json", kept)

    assert store.find("a").status is Status.PENDING
    (mine,) = claim_all(store)
    assert store.publish(answer(mine, "no"), source="test")
    assert summary(store) == "no"
    assert quarantined(store) == {"a.json": ANOTHERS}


def test_an_answer_that_comes_after_its_id_was_used_again_is_evidence(store):
    """Its agent was slow; the request that has the id by now is another."""
    drop(store, "requests", "a.json", request("a", prompt="second").to_json())

    late = answer(request("a", prompt="first"), "late")

    assert store.publish(late, source="test") is False
    assert store.evidence("a")[0]["reason"] == ANOTHERS


def test_a_newcomer_under_a_used_id_takes_no_answer_away(store):
    old = request("a", prompt="first")
    store.submit(old)
    store.publish(answer(old), source="test")

    drop(store, "requests", "a.json", request("a", prompt="second").to_json())

    assert summary(store) == "it is so"
    assert claim_all(store) == []
    assert summary(store) == "it is so"


def test_an_answer_of_an_older_version_counts_where_its_request_has_ended(store):
    """It names no request; with one that waits it could be anybody's."""
    asked = request("a")
    store.submit(asked)
    store.publish(answer(asked), source="test")
    with store.state() as state:
        key = state.key()
    older = sealed_json(answer(asked).with_(request_digest=""), key)

    drop(store, "responses", "a.json", older)
    assert summary(store) == "it is so"

    done = path_of(store, "done", "a")
    done.rename(path_of(store, "requests", "a"))
    assert store.find("a").status is Status.PENDING
    path_of(store, "requests", "a").unlink()
    assert summary(store) == "it is so"


@pytest.mark.parametrize("more", [{"schemaVersion": 2}, {"needs": ["novel"]}])
def test_error_a_newer_answer_is_refused_and_stays(store, mine, more):
    newer = json.dumps(FORGED | more)
    path = drop(store, "responses", "a.json", newer)

    with pytest.raises(NewerSchema, match=f"^{re.escape(str(path))}: .*update"):
        store.find("a")
    with pytest.raises(NewerSchema):
        list(store.wait(["a"], timeout_s=0))
    assert store.publish(answer(mine), source="test") is False
    assert store.sweep(everything=True) == 0

    assert path.read_text() == newer
    assert folders_of(store, "a") == ["processing"]


# Somebody holds the lock


def test_words_are_not_lost_to_a_lock(store, mine):
    """The link alone decides; the next one to get the lock moves the request."""
    quick = Store(store.place, lock_wait_s=0.02)
    with store.state() as state, locked(state.directory, wait_s=1):
        assert quick.publish(answer(mine), source="SubagentStop") is True
        assert quick.publish(answer(mine, "another"), source="late") is False
        assert summary(quick) == "it is so"

    assert folders_of(store, "a") == ["processing"]
    assert store.sweep() == 1
    assert folders_of(store, "a") == ["done"]
    assert len(store.evidence("a")) == 1


def test_without_the_lock_nothing_is_published_for_nothing(store):
    quick = Store(store.place, lock_wait_s=0.02)
    with store.state() as state, locked(state.directory, wait_s=1):
        assert quick.publish(answer(request("ghost")), source="test") is False

    assert not path_of(store, "responses", "ghost").exists()


def test_a_claim_between_two_looks_hides_no_request(store, monkeypatch):
    """Without the lock it is looked for in one folder, then in the other."""
    asked = request("a")
    store.submit(asked)
    quick = Store(store.place, lock_wait_s=0.02)
    look = State.find_waiting

    def claimed_just_before(state, name):
        if path_of(store, "requests", "a").exists():
            path_of(store, "requests", "a").rename(path_of(store, "processing", "a"))
        return look(state, name)

    monkeypatch.setattr(State, "find_waiting", claimed_just_before)
    with store.state() as state, locked(state.directory, wait_s=1):
        assert quick.publish(answer(asked), source="test") is True

    assert summary(store) == "it is so"
    assert store.evidence("a") == []


# The seal: which answers hostbridge wrote


def test_a_seal_covers_every_field(state):
    key = load_key(state)
    value = orjson.loads(sealed_json(answer(request("a")), key))

    assert is_genuine(value, key)
    # The order of the fields is nobody's promise.
    assert is_genuine(dict(reversed(value.items())), key)
    for field in value:
        assert not is_genuine(value | {field: "changed"}, key), field
    assert not is_genuine(value | {"more": 1}, key)
    assert not is_genuine(value, b"x" * 32)


def test_a_field_of_a_later_version_is_sealed_as_well(state):
    """An answer of a newer hostbridge of the same schema version must stay readable."""
    key = load_key(state)
    more = answer(request("a")).with_(tokens=5)

    assert is_genuine(orjson.loads(sealed_json(more, key)), key)


def test_the_key_is_made_once(state):
    assert load_key(state) == load_key(state)
    assert os.stat(f"{state.path}/key").st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_error_a_key_that_is_not_ours(state, content):
    state.create("key", content)

    with pytest.raises(NotAPlainFile) as caught:
        load_key(state)

    assert str(caught.value) == f"{state.path}/key: not a key of ours"
