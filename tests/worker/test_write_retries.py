"""A worker whose answer cannot be written yet."""

import errno
import os
from typing import Any

import pytest
from servingworld import GOOD, A, Scripted, new_worker, response
from storeworld import FakeClock, folders_of, path_of, request, store_in

from bridge.api.upkeep import Abandoned
from bridge.errors import StateUnavailable
from bridge.protocol.outcome import Outcome
from bridge.worker import publisher

DAY_S = 86_400


class Pauses:
    """Time passes only while the worker pauses before it tries again."""

    def __init__(self, clock, beat):
        self.total_s = 0.0
        self.beats: list[bool] = []
        self._clock = clock
        self._beat = beat

    def sleep(self, pause_s: float) -> None:
        self.total_s += pause_s
        self.beats.append(self._beat.exists())
        self._clock.go_on(pause_s)
        assert self.total_s < 1000, "it tries for ever"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path, clock):
    made = store_in(tmp_path, clock=clock)
    made.submit(request("a", route="claude", timeout=60_000))
    return made


@pytest.fixture
def beat(store):
    """The file of the worker's heartbeat."""
    return path_of(store, "sessions") / f"claude-{os.getpid()}.beat"


@pytest.fixture
def pauses(clock, beat, monkeypatch):
    made = Pauses(clock, beat)
    monkeypatch.setattr(publisher.time, "sleep", made.sleep)
    return made


def fail(monkeypatch, call, times, number=errno.ENOSPC, *, once_there=None):
    """Let `times` calls fail, once a file exists if given; returns those that did."""
    failed_calls: list[str] = []
    system_call = getattr(os, call)

    def failing(*how: Any, **more: Any) -> Any:
        is_time = once_there is None or once_there.exists()
        if is_time and len(failed_calls) < times:
            failed_calls.append(call)
            raise OSError(number, os.strerror(number))
        return system_call(*how, **more)

    monkeypatch.setattr(f"bridge.store.directory.os.{call}", failing)
    return failed_calls


def answer_on_a_full_disk(monkeypatch: pytest.MonkeyPatch, times: int) -> Scripted:
    """An executor that answers; then `times` attempts to write the answer fail."""

    def full(*_: object) -> Outcome:
        fail(monkeypatch, "link", times)
        return Outcome(GOOD)

    return Scripted(full)


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize("has_its_name", [False, True])
def test_an_answer_that_cannot_be_written_at_once_is_not_lost(
    store, monkeypatch, *, has_its_name
):
    """The disk is full for a moment, and nobody would ask again."""
    calls: list[list[str]] = []

    def full(*_: object) -> Outcome:
        if has_its_name:
            path = path_of(store, "responses", "a")
            made = fail(monkeypatch, "fsync", 1, errno.EIO, once_there=path)
        else:
            made = fail(monkeypatch, "link", 3)
        calls.append(made)
        return Outcome(GOOD)

    assert new_worker(store, Scripted(full)).serve(A)

    assert calls == [["fsync"] if has_its_name else ["link"] * 3]
    ended = response(store)
    assert (ended.success, ended.raw_output) == (True, GOOD)
    assert (folders_of(store, "a"), store.evidence(A)) == (["done"], [])


@pytest.mark.usefixtures("pauses")
def test_error_an_answer_that_cannot_be_written_in_time(store, monkeypatch):
    """A claim of a live process would keep the request from ending."""
    full = answer_on_a_full_disk(monkeypatch, 10_000)
    with pytest.raises(StateUnavailable) as caught:
        new_worker(store, full).serve(A)

    expected = f"{store.place.state}: No space left on device; see `hostbridge doctor`"
    assert str(caught.value) == expected
    assert folders_of(store, "a") == ["requests"]
    monkeypatch.undo()
    assert store.sweep(everything=True) == 1
    assert response(store).status == "timeout"


def test_the_heartbeat_goes_on_while_it_tries(store, beat, pauses, monkeypatch):
    """Otherwise a container that cannot see this process would take it back."""
    assert new_worker(store, answer_on_a_full_disk(monkeypatch, 100)).serve(A)

    assert (pauses.beats[0], pauses.beats[-1]) == (False, True)
    assert not beat.exists()


@pytest.mark.usefixtures("pauses")
def test_it_stops_trying_when_the_caller_leaves(store, monkeypatch):
    answers = iter([None, Abandoned("gone")])

    def on_stage(_stage):
        if gone := next(answers):
            raise gone

    full = answer_on_a_full_disk(monkeypatch, 10_000)
    with pytest.raises(Abandoned):
        new_worker(store, full, on_stage=on_stage).serve(A)


def test_a_clock_set_back_does_not_make_it_try_for_a_day(
    store, clock, pauses, monkeypatch
):
    def answer_after_the_clock_is_set(*_: object) -> Outcome:
        clock.set_wall(-DAY_S)
        fail(monkeypatch, "link", 10_000)
        return Outcome(GOOD)

    with pytest.raises(StateUnavailable):
        new_worker(store, Scripted(answer_after_the_clock_is_set)).serve(A)

    assert 50 < pauses.total_s < 70


def test_it_tries_no_longer_than_its_caller_waits(store, clock, pauses, monkeypatch):
    """The request has more time than the caller that joined it: it waits again."""
    until_s = clock.monotonic_s() + 5
    full = answer_on_a_full_disk(monkeypatch, 10_000)

    with pytest.raises(StateUnavailable):
        new_worker(store, full).serve(A, until_s=until_s)

    assert pauses.total_s < 10
    assert folders_of(store, "a") == ["requests"]
