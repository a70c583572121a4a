"""Publish, sweep, prune: P3, what a kill leaves, and what may be thrown away."""

from __future__ import annotations

import json
import os
import time
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
    path_of,
    place_in,
    quarantined,
    request,
    rooms_of,
    store_in,
    take,
    tree,
)

from bridge.errors import InvalidRequest, NewerSchema, StateRefused, StateUnavailable
from bridge.protocol.ids import RequestId
from bridge.protocol.response import failed
from bridge.protocol.status import Status
from bridge.store.files import FileStore
from bridge.store.lock import locked
from bridge.store.prune import Pruned

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.protocol.request import Request

A = RequestId("a")


@pytest.fixture
def mine(store: FileStore) -> Request:
    """A claimed request."""
    store.submit(request("a"))
    (taken,) = claim_all(store)
    return taken


def summary(store: FileStore, request_id: RequestId = A) -> str:
    found = store.find(request_id)
    assert found is not None
    assert found.response is not None
    return str(found.response.parsed_output["summary"])


# The first answer wins


@pytest.mark.parametrize("second", ["it is so", "it is not"], ids=["equal", "other"])
def test_a_second_answer_is_kept_as_evidence(
    store: FileStore, mine: Request, second: str
):
    store.publish(answer(mine), source="first")

    assert store.publish(answer(mine, second), source="SubagentStop") is False

    assert summary(store) == "it is so"
    (kept,) = store.evidence(A)
    assert kept == {
        "requestId": "a",
        "at": START_US // 1000,
        "reason": "the request had ended",
        "source": "SubagentStop",
        "rawOutput": json.dumps({"status": "success", "summary": second}),
    }


def test_an_answer_after_the_deadline_is_evidence(
    store: FileStore, mine: Request, clock: FakeClock
):
    clock.go_on(10 * 365 * 86_400)
    assert store.sweep() == 1

    assert store.publish(answer(mine), source="late") is False

    assert store.find(A).status is Status.TIMEOUT  # type: ignore[union-attr]
    assert len(store.evidence(A)) == 1


def test_an_answer_after_a_cancel_is_evidence(store: FileStore, mine: Request):
    cancelled = failed(mine, "cancelled", "by a person", now_ms=5)
    assert store.publish(cancelled, source="cancel")

    assert store.publish(answer(mine), source="late") is False

    assert store.find(A).status is Status.CANCELLED  # type: ignore[union-attr]


def test_a_waiting_request_may_be_answered_by_a_person(store: FileStore):
    """Before any claim."""
    store.submit(request("a"))

    assert store.publish(answer(request("a")), source="respond")

    assert rooms_of(store, "a") == ["done"]
    assert claim_all(store) == []


def test_an_answer_to_nothing_is_evidence(store: FileStore):
    assert store.publish(answer(request("ghost")), source="test") is False

    assert store.find(RequestId("ghost")) is None
    assert store.evidence(RequestId("ghost"))[0]["reason"] == "no such request is live"


@pytest.mark.parametrize("text", ["../x", "a/b", "", "a" * 129, "\0"])
def test_error_nothing_is_kept_under_a_name_that_is_a_path(store: FileStore, text: str):
    with pytest.raises(InvalidRequest):
        store.keep_evidence(text, reason="r", source="s", words="w")

    assert store.find(RequestId(text)) is None
    assert list(store.wait([RequestId(text)], timeout_s=0)) == []


def test_evidence_keeps_words_that_have_no_utf8(store: FileStore):
    store.keep_evidence("a", reason="r", source="s", words="so \ud800")

    assert store.evidence(A)[0]["rawOutput"] == "so ?"


def test_evidence_that_cannot_be_read_is_left_out(store: FileStore):
    store.keep_evidence("a", reason="first", source="s", words="w")
    drop(store, "evidence", "a.1-0.json", b"{")
    path_of(store, "evidence").joinpath("a.2-0.json").symlink_to("/etc/hostname")
    store.keep_evidence("a-b", reason="another request", source="s", words="w")

    assert [one["reason"] for one in store.evidence(A)] == ["first"]


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


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (
            json.dumps(FORGED),
            "not written by hostbridge: the seal is missing or wrong",
        ),
        (
            json.dumps(FORGED | {"seal": "0" * 64}),
            "not written by hostbridge: the seal is missing or wrong",
        ),
        (
            json.dumps(FORGED | {"seal": 5}),
            "seal: input should be a valid string",
        ),
        (json.dumps(FORGED | {"requestId": "b"}), "requestId is 'b', unlike the name"),
        ("{", "not JSON: unexpected end of data"),
        ("", "not JSON: "),
        ("[]", "expected a JSON object, got list"),
    ],
    ids=["no seal", "wrong seal", "odd seal", "other id", "cut", "empty", "list"],
)
def test_a_fabricated_answer_is_put_aside(
    store: FileStore, mine: Request, content: str, why: str
):
    drop(store, "responses", "a.json", content)

    assert list(store.wait([A], timeout_s=0)) == []
    assert store.find(A).status is Status.PROCESSING  # type: ignore[union-attr]
    assert store.publish(answer(mine), source="test") is True

    assert summary(store) == "it is so"
    assert list(quarantined(store)) == ["a.json"]
    assert quarantined(store)["a.json"].startswith(why)


def test_a_fabricated_answer_does_not_stop_the_agent(store: FileStore, mine: Request):
    drop(store, "responses", "a.json", json.dumps(FORGED))

    assert store.change_claim(A, mine.claim.host, lambda c: c) is not None  # type: ignore[union-attr]


def test_the_answer_of_another_state_directory_is_fabricated(
    store: FileStore, mine: Request, tmp_path: Path
):
    """Copied with its seal: the key is another one."""
    other = store_in(tmp_path / "other")
    other.submit(request("a"))
    other.publish(answer(request("a"), "copied"), source="test")
    copied = path_of(other, "responses", "a").read_bytes()
    drop(store, "responses", "a.json", copied)

    assert store.publish(answer(mine), source="test") is True
    assert summary(store) == "it is so"


def test_error_a_newer_answer_is_refused_and_stays(store: FileStore, mine: Request):
    newer = json.dumps(FORGED | {"schemaVersion": 2})
    path = drop(store, "responses", "a.json", newer)

    with pytest.raises(NewerSchema):
        store.find(A)
    with pytest.raises(NewerSchema):
        list(store.wait([A], timeout_s=0))
    assert store.publish(answer(mine), source="test") is False
    assert store.sweep(everything=True) == 0

    assert path.read_text() == newer
    assert rooms_of(store, "a") == ["processing"]


# Somebody holds the lock


def test_words_are_not_lost_to_a_lock(store: FileStore, mine: Request):
    """The link alone decides; the next one to get the lock moves the request."""
    quick = FileStore(store.place, lock_wait_s=0.02)
    with store.open_state() as state, locked(state, wait_s=1):
        assert quick.publish(answer(mine), source="SubagentStop") is True
        assert quick.publish(answer(mine, "another"), source="late") is False
        assert summary(quick) == "it is so"

    assert rooms_of(store, "a") == ["processing"]
    assert store.sweep() == 1
    assert rooms_of(store, "a") == ["done"]
    assert len(store.evidence(A)) == 1


def test_without_the_lock_nothing_is_published_for_nothing(store: FileStore):
    quick = FileStore(store.place, lock_wait_s=0.02)
    with store.open_state() as state, locked(state, wait_s=1):
        assert quick.publish(answer(request("ghost")), source="test") is False

    assert not path_of(store, "responses", "ghost").exists()


# Sweep


def test_what_a_dead_host_held_waits_again(store: FileStore):
    store.submit(request("a"))
    store.claim(claimant(dead_process()), 1, take)

    assert store.sweep() == 1

    (again,) = claim_all(store)
    assert (again.attempt, again.status) == (1, Status.PROCESSING)


def test_what_a_live_host_holds_is_left(store: FileStore, mine: Request):
    assert store.sweep(everything=True) == 0
    assert store.claimed() == [mine]


def test_after_the_last_attempt_the_failure_has_a_name(store: FileStore):
    store.submit(request("a", max_attempts=2))
    for _ in range(2):
        store.claim(claimant(dead_process()), 1, take)
        store.sweep()

    found = store.find(A)
    assert found is not None
    assert found.response is not None
    assert found.response.error is not None
    assert found.response.error.model_dump(mode="json") == {
        "code": "host_gone",
        "message": "the session that held the request is gone, and 2 attempts were "
        "used up",
        "stage": "offered",
    }


def test_a_plain_sweep_does_not_read_the_queue(store: FileStore, clock: FakeClock):
    store.submit(request("a", timeout=1000))
    clock.go_on(2)

    assert store.sweep() == 0
    assert store.sweep(everything=True) == 1


def test_a_sweep_looks_into_those_it_is_told_of(store: FileStore, clock: FakeClock):
    """What is claimed, ended or unknown by now is left as it is."""
    for one in ("a", "b", "c"):
        store.submit(request(one, timeout=1000))
    store.claim(claimant(), 1, take)  # type: ignore[arg-type]
    clock.go_on(0.5)

    assert store.sweep(waiting=[A, RequestId("b")]) == 0
    clock.go_on(0.5)
    assert store.sweep(waiting=[A, RequestId("b"), RequestId("nobody")]) == 2

    assert [rooms_of(store, one) for one in ("a", "b", "c")] == [
        ["done"],
        ["done"],
        ["requests"],
    ]
    assert quarantined(store) == {}


def test_an_overdue_request_ended_at_its_deadline(store: FileStore, clock: FakeClock):
    """Whenever somebody noticed: nobody waited that long."""
    store.submit(request("a", timeout=1000))
    clock.go_on(3_600)

    store.sweep(everything=True)

    response = store.find(A).response  # type: ignore[union-attr]
    assert response is not None
    assert (response.duration, response.completed_at) == (1000, START_US // 1000 + 1000)


def test_what_was_taken_without_a_name_waits_again(store: FileStore):
    """The claimer was killed between the rename and the record."""
    store.submit(request("a"))
    path_of(store, "processing").mkdir(exist_ok=True)
    path_of(store, "requests", "a").rename(path_of(store, "processing", "a"))

    assert store.find(A).status is Status.PENDING  # type: ignore[union-attr]
    assert store.sweep() == 1

    assert store.waiting() == ["a"]


# Prune


DAY = 86_400


def files(store: FileStore) -> dict[str, bytes]:
    found = tree(store.place.state).items()
    return {name: data for name, data in found if data is not None}


def finished(store: FileStore, *ids: str) -> None:
    for one in ids:
        store.submit(request(one, dedup_key=f"key of {one}"))
        (mine,) = claim_all(store)
        store.publish(answer(mine), source="test")
        store.publish(answer(mine, "late"), source="test")


@pytest.fixture
def later(tmp_path: Path) -> FileStore:
    """The same store ten days from now, as the real clock has it."""
    clock = FakeClock(time.time_ns() // 1000 + 10 * DAY * 1_000_000)
    return FileStore(place_in(tmp_path), clock=clock)


def test_what_is_overdue_is_ended_first(store: FileStore, clock: FakeClock):
    """Also more than one batch of it; then it goes with the rest, when it is old."""
    for number in range(102):
        store.submit(request(f"r{number}", timeout=1000))
    store.submit(request("a"))
    clock.go_on(2)

    assert store.prune(max_bytes=0).requests == 102
    assert store.waiting() == ["a"]


def test_old_requests_go_with_all_that_belongs_to_them(
    store: FileStore, later: FileStore
):
    finished(store, "a", "b")
    drop(store, "requests", "odd name.json", "{")
    claim_all(store)

    assert later.prune(older_than_days=11) == Pruned()
    pruned = later.prune(older_than_days=9)

    assert pruned.freed_bytes > 1000
    assert (pruned.requests, pruned.quarantined, pruned.dedup_keys) == (2, 1, 2)
    assert set(files(store)) == {"key", "events.jsonl", "locks/store.lock"}
    assert store.submit(request("a")).is_new


def test_the_log_of_a_run_goes_with_its_request(store: FileStore, later: FileStore):
    """Both parts of it; what is no log of a run is none of prune's."""
    finished(store, "a")
    store.submit(request("waits"))
    with store.open_state() as state, state.folder("runs") as runs:
        for name in ("a.jsonl", "a.1.jsonl", "waits.jsonl", "flow.json"):
            runs.create(name, b"{}\n")

    assert later.prune(older_than_days=9).requests == 1

    kept = sorted(path.name for path in path_of(store, "runs").iterdir())
    assert kept == ["flow.json", "waits.jsonl"]


def test_unfinished_requests_stay(store: FileStore, later: FileStore):
    store.submit(request("claimed", dedup_key="c"))
    claim_all(store)
    store.submit(request("waiting", dedup_key="w"))
    store.keep_evidence("claimed", reason="r", source="s", words="w")
    before = files(store)

    assert later.prune(older_than_days=0, max_bytes=0) == Pruned()

    assert files(store) == before


def test_the_oldest_go_until_the_rest_fits(store: FileStore):
    for name in "abc":
        finished(store, name)
        time.sleep(0.02)
    sizes = sum(
        p.stat().st_size
        for room in ("done", "responses", "evidence")
        for p in path_of(store, room).iterdir()
    )

    assert store.prune(max_bytes=sizes).requests == 0
    assert store.prune(max_bytes=sizes - 1).requests == 1

    assert rooms_of(store, "a") == []
    assert rooms_of(store, "b") == ["done"]


def test_left_over_temporaries_go_after_an_hour(store: FileStore, tmp_path: Path):
    with store.open_state() as state, state.folder("requests") as queue:
        queue.prepare("a.json", b"half a request")
        state.prepare("key", b"half a key")
    now = FakeClock(time.time_ns() // 1000)
    hour = FakeClock(time.time_ns() // 1000 + 3_700_000_000)

    assert FileStore(place_in(tmp_path), clock=now).prune().temporaries == 0
    assert FileStore(place_in(tmp_path), clock=hour).prune().temporaries == 2


def test_folders_and_links_in_place_of_files_go_too(
    store: FileStore, later: FileStore, tmp_path: Path
):
    finished(store, "a")
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("mine")
    done = path_of(store, "done")
    (done / "folder.json").mkdir()
    (done / "folder.json" / "inner").write_text("x")
    (done / "link.json").symlink_to(tmp_path / "precious")
    (done / "folder.json" / "link").symlink_to(tmp_path / "precious")

    later.prune(older_than_days=1)

    assert os.listdir(done) == []
    assert (tmp_path / "precious" / "file").read_text() == "mine"


# What the system refuses, in our words


def test_error_the_key_is_something_else(store: FileStore, mine: Request):
    path = path_of(store, "key")
    path.symlink_to("/etc/hostname")

    with pytest.raises(StateRefused) as caught:
        store.publish(answer(mine), source="test")

    assert str(caught.value) == f"{path}: not a plain file; move it away"


@pytest.mark.parametrize(
    "room", ["requests", "processing", "responses", "done", "locks", "dedup"]
)
@pytest.mark.parametrize("what", ["link", "file"])
def test_error_a_folder_is_something_else(
    store: FileStore, tmp_path: Path, room: str, what: str
):
    store.submit(request("first", dedup_key="k"))
    path = path_of(store, room)
    if path.exists():
        path.rename(tmp_path / "moved")
    if what == "link":
        path.symlink_to(tmp_path)
    else:
        path.write_text("")
    before = sorted(os.listdir(tmp_path))

    with pytest.raises(StateRefused) as caught:
        store.submit(request("a", dedup_key="k2"))

    assert str(caught.value) == (
        f"{path}: not a folder of its own; remove it; hostbridge follows no link"
    )
    assert sorted(os.listdir(tmp_path)) == before


def test_error_no_more_files_can_be_opened(store: FileStore):
    import resource

    store.submit(request("a"))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    fd = os.open("/", os.O_RDONLY)
    os.close(fd)
    resource.setrlimit(resource.RLIMIT_NOFILE, (fd + 2, limits[1]))
    try:
        with pytest.raises(StateUnavailable) as caught:
            claim_all(store)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    assert str(caught.value) == (
        f"{store.place.state}: Too many open files; see `hostbridge doctor`"
    )
    assert len(claim_all(store)) == 1
