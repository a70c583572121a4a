"""Serving with a clock that somebody sets, or a disk that takes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from servingworld import GOOD, A, Scripted, new_worker, response, saying
from storeworld import FakeClock, request, rooms_of, store_in

from bridge.errors import StateUnavailable
from bridge.protocol.outcome import Outcome
from bridge.worker import worker

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.store.store import Store

DAY_S = 86_400


class Waits:
    """Time that passes only while the server waits."""

    def __init__(self, clock: FakeClock) -> None:
        self.waited_s = 0.0
        self._clock = clock

    def sleep(self, pause_s: float) -> None:
        self.waited_s += pause_s
        self._clock.go_on(pause_s)
        assert self.waited_s < 1000, "it tries for ever"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def waits(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Waits:
    made = Waits(clock)
    monkeypatch.setattr(worker.time, "sleep", made.sleep)
    return made


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Store:
    made = store_in(tmp_path, clock=clock)
    made.submit(request("a", route="claude", timeout=60_000))
    return made


def fill(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the disk takes no answer."""

    def full(*_: object, **_how: object) -> bool:
        raise StateUnavailable("No space left on device")

    monkeypatch.setattr(store, "publish", full)


def test_a_clock_set_back_makes_no_answer_be_written_for_a_day(
    store: Store, clock: FakeClock, waits: Waits, monkeypatch: pytest.MonkeyPatch
):
    def answer_after_the_clock_is_set(*_: object, **_how: Any) -> Outcome:
        clock.set_wall(-DAY_S)
        return Outcome(GOOD)

    fill(store, monkeypatch)
    with pytest.raises(StateUnavailable):
        new_worker(store, Scripted(answer_after_the_clock_is_set)).serve(A)

    assert 50 < waits.waited_s < 70


def test_who_has_less_time_than_the_request_is_not_kept_by_a_full_disk(
    store: Store, clock: FakeClock, waits: Waits, monkeypatch: pytest.MonkeyPatch
):
    """Another asker's request, served by one that joined it: it waits again."""
    until_s = clock.monotonic_s() + 5

    fill(store, monkeypatch)
    with pytest.raises(StateUnavailable):
        new_worker(store, saying(GOOD)).serve(A, until_s=until_s)

    assert waits.waited_s < 10
    assert rooms_of(store, "a") == ["requests"]


def test_with_the_clock_set_back_a_deadline_is_still_one(
    store: Store, clock: FakeClock
):
    """The request ran until then: it is not given back, as if it had not."""

    def run_out_of_time(*_: object, deadline_s: float, **_how: Any) -> Outcome:
        clock.set_wall(-DAY_S)
        clock.go_on(deadline_s - clock.monotonic_s())
        return Outcome("", "timeout")

    until_s = clock.monotonic_s() + 60
    new_worker(store, Scripted(run_out_of_time)).serve(A, until_s=until_s)

    told = response(store)
    assert told.error is not None
    assert (told.error.code, told.error.stage) == ("timeout", "running")


def test_time_that_is_up_is_no_cancel(store: Store, clock: FakeClock):
    """Who asks first whether to stop, and then for the time, hears of the time."""

    def work(*_: object, deadline_s: float, should_stop: Any, **_how: Any) -> Outcome:
        while not should_stop():
            if clock.monotonic_s() >= deadline_s:
                return Outcome(code="AGENT_005", detail="at work")
            clock.go_on(1)
        return Outcome(code="cancelled", detail="the reply was wanted no more")

    until_s = clock.monotonic_s() + 60
    new_worker(store, Scripted(work)).serve(A, until_s=until_s)

    told = response(store)
    assert told.error is not None
    assert told.error.code == "AGENT_005"
