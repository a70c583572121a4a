"""Serving: an answer that cannot be written yet, and the signs of life meanwhile."""

from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING, Any

import pytest
from servingworld import GOOD, A, Scripted, new_worker, response
from storeworld import (
    FakeClock,
    path_of,
    request,
    rooms_of,
    store_in,
)

from bridge.api.upkeep import Abandoned
from bridge.errors import StateUnavailable
from bridge.protocol.outcome import Outcome
from bridge.worker import worker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bridge.protocol.status import Stage
    from bridge.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = store_in(tmp_path)
    made.submit(request("a", route="claude"))
    return made


def fail(
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    times: int,
    number: int = errno.ENOSPC,
    *,
    once_there: Path | None = None,
) -> list[str]:
    """So many calls fail from now on, or once a file is there; their list grows."""
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


def rest_by(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> None:
    monkeypatch.setattr(worker.time, "sleep", clock.go_on)


@pytest.mark.parametrize("has_its_name", [False, True])
def test_an_answer_that_cannot_be_written_at_once_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_its_name: bool
):
    """It was asked for once, and the disk is full for a moment only."""
    clock = FakeClock()
    store = store_in(tmp_path, clock=clock)
    store.submit(request("a", route="claude"))
    rest_by(monkeypatch, clock)
    calls: list[list[str]] = []

    def full(*_: Any, **__: Any) -> Outcome:
        if has_its_name:
            path = path_of(store, "responses", "a")
            made = fail(monkeypatch, "fsync", 1, errno.EIO, once_there=path)
        else:
            made = fail(monkeypatch, "link", 3)
        calls.append(made)
        return Outcome(GOOD)

    assert new_worker(store, Scripted(full)).serve(A)

    assert calls == [["fsync"] if has_its_name else ["link"] * 3]
    told = response(store)
    assert (told.success, told.raw_output) == (True, GOOD)
    assert (rooms_of(store, "a"), store.evidence(A)) == (["done"], [])


def test_error_an_answer_that_cannot_be_written_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The claim of a process that lives would keep it from its end."""
    clock = FakeClock()
    store = store_in(tmp_path, clock=clock)
    store.submit(request("a", route="claude", timeout=60_000))
    rest_by(monkeypatch, clock)

    def full(*_: Any, **__: Any) -> Outcome:
        fail(monkeypatch, "link", 10_000)
        return Outcome(GOOD)

    with pytest.raises(StateUnavailable) as caught:
        new_worker(store, Scripted(full)).serve(A)

    assert str(caught.value) == (
        f"{store.place.state}: No space left on device; see `hostbridge doctor`"
    )
    assert rooms_of(store, "a") == ["requests"]
    monkeypatch.undo()
    assert store.sweep(everything=True) == 1
    assert response(store).status == "timeout"


def test_while_it_tries_it_gives_a_sign_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Else who cannot see this process takes the request back, and has it done."""
    clock = FakeClock()
    store = store_in(tmp_path, clock=clock)
    store.submit(request("a", route="claude", timeout=60_000))
    beat = path_of(store, "sessions") / f"claude-{os.getpid()}.beat"
    seen = []

    def rest(seconds: float) -> None:
        seen.append(beat.exists())
        clock.go_on(seconds)

    monkeypatch.setattr(worker.time, "sleep", rest)

    def full(*_: Any, **__: Any) -> Outcome:
        fail(monkeypatch, "link", 100)
        return Outcome(GOOD)

    assert new_worker(store, Scripted(full)).serve(A)

    assert (seen[0], seen[-1]) == (False, True)
    assert not beat.exists()


def test_who_no_longer_waits_ends_the_tries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: Any, **__: Any) -> Outcome:
        fail(monkeypatch, "link", 10_000)
        return Outcome(GOOD)

    clock = FakeClock()
    store = store_in(tmp_path, clock=clock)
    store.submit(request("a", route="claude"))
    rest_by(monkeypatch, clock)
    told = iter([None, Abandoned("gone")])

    def on_stage(_stage: Stage) -> None:
        if gone := next(told):
            raise gone

    with pytest.raises(Abandoned):
        new_worker(store, Scripted(full), on_stage=on_stage).serve(A)


def test_long_work_gives_a_sign_of_life(tmp_path: Path):
    """Where this process cannot be seen, a lease stands in, and has to be renewed."""
    clock = FakeClock()
    store = store_in(tmp_path, clock=clock)
    store.submit(request("a", route="claude"))
    beat = path_of(store, "sessions") / f"claude-{os.getpid()}.beat"
    seen = []

    def work(*_: Any, should_stop: Callable[[], bool], **__: Any) -> Outcome:
        for seconds in (1, 30):
            clock.go_on(seconds)
            assert not should_stop()
            seen.append(beat.exists())
        return Outcome(GOOD)

    new_worker(store, Scripted(work)).serve(A)

    assert (seen, beat.exists()) == ([False, True], False)


def test_the_sign_of_life_is_renewed(tmp_path: Path):
    """Else work that outlasts the lease is taken back and done a second time."""
    clock = FakeClock()
    store = store_in(tmp_path, clock=clock)
    store.submit(request("a", route="claude"))
    beat = path_of(store, "sessions") / f"claude-{os.getpid()}.beat"
    began_s = time.time() - 1
    renewed = []

    def work(*_: Any, should_stop: Callable[[], bool], **__: Any) -> Outcome:
        for _beat in range(3):
            clock.go_on(30)
            assert not should_stop()
            renewed.append(beat.stat().st_mtime > began_s)
            os.utime(beat, (1, 1))
        return Outcome(GOOD)

    new_worker(store, Scripted(work)).serve(A)

    assert renewed == [True, True, True]
