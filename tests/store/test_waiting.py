"""Waiting: P4. Real processes answer; the deadline is kept whatever happens."""

from __future__ import annotations

import logging
import multiprocessing
import os
import shutil
import threading
import time
from typing import TYPE_CHECKING

import pytest
from storeworld import FakeClock, answer, claim_all, drop, path_of, request

from bridge.errors import StateUnavailable, StateVanished
from bridge.protocol.ids import RequestId
from bridge.store import wait, watcher
from bridge.store.clock import SystemClock
from bridge.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

A = RequestId("a")


def after(seconds: float, action: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(seconds, action)
    timer.start()
    return timer


def answer_all(store: Store) -> None:
    for mine in claim_all(store):
        store.publish(answer(mine), source="test")


@pytest.fixture
def real(store: Store) -> Store:
    """The same store on the real clock."""
    return Store(store.place)


def long(request_id: str):
    return request(request_id, created_at=time.time_ns() // 1_000_000)


def test_an_answer_that_is_there_is_returned_at_once(real: Store):
    real.submit(long("a"))
    answer_all(real)

    (response,) = real.wait([A], timeout_s=0)

    assert response.request_id == "a"


def test_an_answer_of_another_process_wakes_the_waiter(
    real: Store, monkeypatch: pytest.MonkeyPatch
):
    """The kernel tells: nobody looks by himself as soon as this."""
    monkeypatch.setattr(watcher, "LOOK_S", 1000)
    real.submit(long("a"))
    child = multiprocessing.get_context("fork").Process(
        target=lambda: (time.sleep(0.2), answer_all(real))
    )
    child.start()

    (response,) = real.wait([A], timeout_s=30)

    assert response.success
    child.join()


def test_many_are_yielded_as_they_come(real: Store):
    for name in "abc":
        real.submit(long(name))
    mine = {one.request_id: one for one in claim_all(real)}
    timers = [
        after(0.1, lambda: real.publish(answer(mine["c"]), source="t")),
        after(0.3, lambda: real.publish(answer(mine["a"]), source="t")),
    ]

    ids = [RequestId(name) for name in "abc"]
    came = [r.request_id for r in real.wait(ids, timeout_s=0.6)]

    assert came == ["c", "a"]
    for timer in timers:
        timer.join()


def test_the_waiter_returns_by_its_deadline(real: Store):
    began = time.monotonic()

    assert list(real.wait([A], timeout_s=0.2)) == []

    assert time.monotonic() - began >= 0.2


@pytest.mark.parametrize("step_s", [86_400, -86_400], ids=["a day on", "a day back"])
def test_a_changed_wall_clock_does_not_move_the_deadline(store: Store, step_s: int):
    class Real(FakeClock):
        def monotonic_s(self) -> float:
            return time.monotonic()

    moving = Real()
    waiter = Store(store.place, clock=moving)
    timer = after(0.1, lambda: moving.set_wall(step_s))
    began = time.monotonic()

    assert list(waiter.wait([A], timeout_s=0.3)) == []

    assert time.monotonic() - began >= 0.3
    timer.join()


def test_requests_are_tended_while_one_waits(
    real: Store, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(wait, "LOOK_S", 0.02)
    tended = []

    list(real.wait([A], timeout_s=0.2, tend=lambda: tended.append(1)))

    assert len(tended) > 3


def test_trouble_of_the_tender_does_not_end_the_wait(
    real: Store, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(wait, "LOOK_S", 0.02)
    real.submit(long("a"))
    timer = after(0.1, lambda: answer_all(real))

    def tend() -> None:
        raise StateUnavailable("locked")

    assert len(list(real.wait([A], timeout_s=5, tend=tend))) == 1
    timer.join()


@pytest.mark.parametrize("what", ["removed", "replaced", "answers removed"])
def test_error_the_state_vanishes_under_a_waiter(real: Store, what: str):
    real.submit(long("a"))
    list(real.wait([A], timeout_s=0))
    state = real.place.state

    def vanish() -> None:
        if what == "answers removed":
            shutil.rmtree(state / "responses")
            return
        state.rename(state.with_name("old"))
        if what == "replaced":
            Store(real.place).submit(long("b"))

    timer = after(0.1, vanish)

    with pytest.raises(StateVanished) as caught:
        list(real.wait([A], timeout_s=30))

    assert str(caught.value) == (
        f"{state} was removed or replaced while waiting; what was asked there is lost"
    )
    timer.join()


def test_a_planted_answer_does_not_end_the_wait(real: Store):
    real.submit(long("a"))
    timers = [
        after(0.05, lambda: drop(real, "responses", "a.json", b'{"success": true}')),
        after(0.2, lambda: answer_all(real)),
    ]

    (response,) = real.wait([A], timeout_s=5)

    assert response.parsed_output == {"status": "success", "summary": "it is so"}
    for timer in timers:
        timer.join()


@pytest.mark.parametrize("call", ["_start_observer", "_schedule"])
def test_without_inotify_the_looks_come_quickly(
    real: Store, monkeypatch: pytest.MonkeyPatch, call: str
):
    """Where the kernel gives no watch: a network file system, all instances used."""

    def refuse(*_args: object, **_how: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(f"bridge.store.watcher.{call}", refuse)
    monkeypatch.setattr(watcher, "LOOK_S", 1000)
    real.submit(long("a"))
    timer = after(0.1, lambda: answer_all(real))

    assert len(list(real.wait([A], timeout_s=30))) == 1

    timer.join()


def settled() -> tuple[int, int]:
    """Threads and open files once no watch is being closed behind our back any more."""
    counts: list[tuple[int, int]] = []
    while len(counts) < 10 or len(set(counts[-10:])) > 1:
        assert len(counts) < 500, "threads and files go on changing"
        counts.append((threading.active_count(), len(os.listdir("/proc/self/fd"))))
        time.sleep(0.02)
    return counts[-1]


def test_a_wait_that_is_given_up_leaves_nothing_behind(real: Store):
    real.submit(long("a"))
    answer_all(real)
    list(real.wait([A, RequestId("b")], timeout_s=0.05))
    before = settled()

    for _ in range(5):
        next(iter(real.wait([RequestId("b"), A], timeout_s=5)))
        list(real.wait([RequestId("b")], timeout_s=0.02))

    threads, fds = settled()
    assert (threads <= before[0], fds <= before[1]) == (True, True)


def test_stopping_a_watch_says_nothing(real: Store, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG):
        for _ in range(30):
            list(real.wait([A], timeout_s=0.002))

    assert "inactive" not in caplog.text


def test_the_state_directory_is_not_made_again_by_a_waiter(real: Store):
    real.submit(long("b"))
    answer_all(real)
    real.submit(long("a"))
    wait = real.wait([A, RequestId("b")], timeout_s=10)
    assert next(wait).request_id == "b"

    shutil.rmtree(real.place.state)

    with pytest.raises(StateVanished):
        list(wait)
    assert not path_of(real, "").exists()


class CountingClock(SystemClock):
    """The real clock; `looks` is how often a waiter asked it for the time left."""

    looks = 0

    def monotonic_s(self) -> float:
        self.looks += 1
        return super().monotonic_s()


def test_what_is_no_answer_of_ours_wakes_nobody(store: Store):
    """A temporary comes before each answer: a look at nothing would delay the next."""
    clock = CountingClock()
    waiter = Store(store.place, clock=clock)
    store.submit(long("a"))

    def others() -> None:
        for number in range(50):
            drop(store, "responses", f".b.{number}.tmp", b"{}")
            time.sleep(0.005)

    other = after(0.1, others)
    assert list(waiter.wait([A], timeout_s=0.6)) == []
    other.join()

    assert clock.looks < 10


def test_an_answer_does_not_wait_for_the_end_of_the_watch(
    real: Store, monkeypatch: pytest.MonkeyPatch
):
    """The kernel takes its time to close it: that was the slowest part of a wait."""
    from watchdog.observers import Observer

    stop = Observer.stop
    go_on = threading.Event()
    stopped: list[object] = []

    def slow_stop(observer: object) -> None:
        go_on.wait(30)
        stop(observer)  # type: ignore[arg-type]
        stopped.append(observer)

    monkeypatch.setattr(Observer, "stop", slow_stop)
    real.submit(long("a"))
    timer = after(0.2, lambda: answer_all(real))

    assert len(list(real.wait([A], timeout_s=10))) == 1

    assert stopped == []
    go_on.set()
    timer.join()
