"""What changes between two looks, and what a kill left behind."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from storeworld import (
    START_US,
    FakeClock,
    answer,
    claim_all,
    claimant,
    drop,
    folders_of,
    place_in,
    quarantined,
    request,
    take,
    this_process,
)

from bridge.protocol.ids import RequestId, new_request_id
from bridge.protocol.status import Status
from bridge.store.passed_over import FEW
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.protocol.request import Request

A = RequestId("a")


def finished(store: Store, name: str) -> Request:
    store.submit(request(name))
    [held] = claim_all(store)
    store.publish(answer(held), source="test")
    return held


def test_prune_leaves_a_folder_with_the_name_of_a_temporary(store, tmp_path):
    store.submit(request("a"))
    folder = store.place.state / "requests" / ".mine.tmp"
    folder.mkdir()
    hour = FakeClock(time.time_ns() // 1000 + 3_700_000_000)

    assert Store(place_in(tmp_path), clock=hour).prune().temporaries == 0

    assert folder.is_dir()


def test_prune_by_size_counts_only_what_it_may_remove(store):
    """A live request with much evidence pushed finished ones out."""
    finished(store, "a")
    store.submit(request("b"))
    store.keep_evidence("b", reason="r", source="test", words="x" * 100_000)

    assert store.prune(max_bytes=50_000).requests == 0

    assert folders_of(store, "a") == ["done"]


def test_a_request_is_as_old_as_its_newest_file(store):
    old = finished(store, "a")
    time.sleep(0.02)
    finished(store, "b")
    time.sleep(0.02)
    store.publish(answer(old, "late " * 400), source="test")
    size = sum(p.stat().st_size for p in store.place.state.rglob("a.*"))

    store.prune(max_bytes=size)

    assert (folders_of(store, "a"), folders_of(store, "b")) == (["done"], [])


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

    assert store.claim_one(A, claimant()) is None

    found = store.find(A)
    assert found is not None
    assert found.status is Status.TIMEOUT


def test_a_request_that_vanishes_while_it_is_judged_is_not_claimed(store):
    store.submit(request("a"))

    def removing(asked: Request) -> str:
        (store.place.state / "requests" / f"{asked.request_id}.json").unlink()
        return "take"

    assert store.claim(claimant(), 4, removing) == []  # type: ignore[arg-type]

    assert os.listdir(store.place.state / "processing") == []


def test_an_answered_request_is_not_changed_by_its_holder(store):
    """A kill after the answer was linked left the request in processing/."""
    finished(store, "a")
    state = store.place.state
    (state / "done" / "a.json").rename(state / "processing" / "a.json")

    assert store.change_held(A, this_process(), lambda r: r) is None
    assert not store.give_back(A, this_process(), lambda r: r)


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
    assert store.claim(claimant(), 1, take) == []  # type: ignore[arg-type]

    store.publish(answer(parent), source="test")

    [taken] = store.claim(claimant(), 1, take)  # type: ignore[arg-type]
    assert taken.request_id == ids[0]


def test_sweeps_that_are_cut_short_begin_in_different_places(store, clock, monkeypatch):
    """Each waiting request comes round, however little time a sweep has."""
    from bridge.store import sweep

    monkeypatch.setattr(sweep, "BATCH", 1)
    for name in "abc":
        store.submit(request(name, timeout=1000))
    clock.go_on(2)
    began: list[str] = []
    real = sweep._sweep_waiting

    def looked(_state: object, name: str) -> bool:
        began.append(name)
        clock.go_on(1)
        return False

    monkeypatch.setattr(sweep, "_sweep_waiting", looked)
    for _ in range(6):
        clock.set_wall(0.000001)
        store.sweep(everything=True, limit_s=0.5)
    monkeypatch.setattr(sweep, "_sweep_waiting", real)

    assert set(began) == {"a", "b", "c"}
