"""What a worker checks while it works: the deadline, the switch, its heartbeat."""

import os
import time

import pytest
from servingworld import GOOD, A, Scripted, failure, new_worker
from storeworld import (
    CountingStore,
    FakeClock,
    claimant,
    folders_of,
    path_of,
    place_in,
    request,
)

from bridge.protocol.outcome import Outcome
from bridge.protocol.response import failed
from bridge.protocol.status import ignore
from bridge.store.switch import switch_off
from bridge.worker.heartbeat import Watch

DAY_S = 86_400


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path, clock):
    made = CountingStore(place_in(tmp_path), clock=clock, lock_wait_s=5)
    made.submit(request("a", route="claude", timeout=600_000))
    return made


def watched(store, clock):
    """A claimed request, and its watch after a first look."""
    held = store.claim_one(A, claimant())
    assert held is not None
    watch = Watch(store, held, ignore)
    clock.go_on(1)
    assert not watch()
    return held, watch


def test_asking_whether_to_stop_costs_next_to_nothing(store, clock):
    """A client may work for many minutes, and is asked about several times a second."""
    held, watch = watched(store, clock)
    before = store.opened

    for _ in range(100):
        clock.go_on(0.25)
        assert not watch()

    assert store.opened == before
    assert store.publish(failed(held, "cancelled", "no", now_ms=1), source="cancel")
    clock.go_on(0.25)
    assert watch()
    assert (watch.is_off, watch.has_ended) == (False, True)


def test_switching_off_is_noticed(store, clock):
    _, watch = watched(store, clock)

    switch_off(store)

    clock.go_on(1)
    assert watch()
    assert (watch.is_off, watch.has_ended) == (True, False)


def test_the_deadline_is_that_of_the_record(store, clock):
    seen = []
    now_ms = store.now_ms()
    asked = request("b", route="claude", created_at=now_ms, timeout=60_000)
    store.submit(asked)

    def look(_asked, control):
        seen.append(control.deadline_s - clock.monotonic_s())
        return Outcome(GOOD)

    new_worker(store, Scripted(look)).serve(asked.request_id)

    assert seen == [60]


def test_the_deadline_stands_when_the_clock_is_set_back(store, clock):
    """The request ran until then: it is not given back as if it had not."""

    def run_out_of_time(_asked, control):
        clock.set_wall(-DAY_S)
        clock.go_on(control.deadline_s - clock.monotonic_s())
        return Outcome("", "timeout")

    until_s = clock.monotonic_s() + 600
    new_worker(store, Scripted(run_out_of_time)).serve(A, until_s=until_s)

    assert (failure(store).code, failure(store).stage) == ("timeout", "running")


def test_a_deadline_is_not_reported_as_a_cancellation(store, clock):
    """Also if the executor asks whether to stop before it looks at the time."""

    def work(_asked, control):
        while not control.should_stop():
            if clock.monotonic_s() >= control.deadline_s:
                return Outcome(code="timeout", detail="at work")
            clock.go_on(10)
        return Outcome(code="cancelled", detail="the reply was not wanted any more")

    until_s = clock.monotonic_s() + 600
    new_worker(store, Scripted(work)).serve(A, until_s=until_s)

    assert failure(store).code == "timeout"


@pytest.mark.parametrize(
    ("outcome", "place"),
    [(Outcome(GOOD), "done"), (Outcome(code="timeout"), "requests")],
    ids=["answer", "none"],
)
def test_what_comes_after_the_callers_deadline(store, clock, outcome, place):
    """An answer counts; without one, the request waits for another worker."""

    def finish_late(*_: object) -> Outcome:
        clock.go_on(10)
        return outcome

    until_s = clock.monotonic_s() + 5
    new_worker(store, Scripted(finish_late)).serve(A, until_s=until_s)

    assert folders_of(store, "a") == [place]


def test_long_work_has_a_heartbeat(store, clock):
    """Where this process cannot be seen, a lease stands in, and has to be renewed."""
    beat = path_of(store, "sessions") / f"claude-{os.getpid()}.beat"
    began_s = time.time() - 1
    renewed = []

    def work(_asked, control):
        for seconds in (1, 29, 30, 30, 30):
            clock.go_on(seconds)
            assert not control.should_stop()
            renewed.append(beat.exists() and beat.stat().st_mtime > began_s)
            if beat.exists():
                os.utime(beat, (1, 1))
        return Outcome(GOOD)

    new_worker(store, Scripted(work)).serve(A)

    assert renewed == [False, True, True, True, True]
    assert not beat.exists()
