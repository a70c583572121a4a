"""What a waiter does for what it waits for, and what no lock keeps it from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from servingworld import open_session
from storeworld import (
    START_US,
    FakeClock,
    dead_process,
    request,
    store_in,
)

from bridge.api.upkeep import TEND_S, WAKE_S, Abandoned, Tender
from bridge.protocol.ids import RequestId
from bridge.protocol.status import Stage, Status
from bridge.store import Claimant, wakeups
from bridge.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bridge.store import Found

A = RequestId("a")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Store:
    made = store_in(tmp_path, clock=clock, lock_wait_s=0.0)
    made.submit(request(A, timeout=1000, created_at=START_US // 1000))
    return made


def status(store: Store) -> Status | None:
    found = store.find(A)
    return found.status if found else None


def test_stages_are_told_while_the_lock_is_held(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    """What is overdue is ended as soon as it can be."""
    told: list[Stage] = []
    tend = Tender(store, {A}, on_stage=told.append)

    with store_in(tmp_path).exclusive():
        clock.go_on(TEND_S)
        tend()
        held = status(store)
    clock.go_on(TEND_S)
    tend()

    assert told == [Stage.NO_HOST, Stage.NO_HOST]
    assert (held, status(store)) == (Status.PENDING, Status.TIMEOUT)


def test_who_is_gone_does_not_wait_for_the_lock(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    """A cancelled wait stayed for as long as somebody else held it."""

    def leave(_stage: Stage) -> None:
        raise Abandoned("gone")

    tend = Tender(store, {A}, on_stage=leave)
    clock.go_on(TEND_S)

    with store_in(tmp_path).exclusive(), pytest.raises(Abandoned):
        tend()


def test_nothing_is_told_of_what_has_ended_or_before_it_is_due(
    store: Store, clock: FakeClock
) -> None:
    told: list[Stage] = []
    tend = Tender(store, {A}, on_stage=told.append)

    for seconds in (TEND_S / 2, TEND_S / 2, TEND_S):
        clock.go_on(seconds)
        tend()

    assert told == [Stage.NO_HOST]
    assert status(store) is Status.TIMEOUT


def test_what_a_dead_host_held_rings_at_once(tmp_path: Path, clock: FakeClock) -> None:
    """The other session is idle, and does not look by itself."""
    store = store_in(tmp_path, clock=clock)
    store.submit(request(A, created_at=START_US // 1000))
    store.claim(Claimant("gone", dead_process()), 1, lambda _: "take")
    idle = open_session(store)
    tend = Tender(store, {A}, on_stage=lambda _: None)

    clock.go_on(TEND_S)
    tend()

    assert status(store) is Status.PENDING
    assert wakeups.unanswered_s(store, idle.host) is not None


def test_a_bell_that_nobody_answered_rings_again_soon(
    tmp_path: Path, clock: FakeClock
) -> None:
    """The first ring may have come before the session's watch."""
    store = store_in(tmp_path, clock=clock)
    store.submit(request(A, created_at=START_US // 1000))
    idle = open_session(store)
    tend = Tender(store, {A}, on_stage=lambda _: None)
    wakeups.wake(store, [idle])
    file = f"{wakeups.path_of(store.place, idle.host)}/{wakeups.SIGNAL}"
    first_ns = START_US * 1000
    os.utime(file, ns=(first_ns, first_ns))

    clock.go_on(TEND_S)
    tend()
    rung_ns = os.stat(file).st_mtime_ns
    wakeups.clear(store, idle.host)
    clock.go_on(TEND_S)
    tend()

    assert rung_ns - first_ns == TEND_S * 1_000_000_000
    assert wakeups.unanswered_s(store, idle.host) is None


def test_a_session_that_has_not_begun_what_it_was_offered_is_rung(
    tmp_path: Path, clock: FakeClock
) -> None:
    """What the first offer said may have got lost; only a hook can repeat it."""
    store = store_in(tmp_path, clock=clock)
    store.submit(request(A, created_at=START_US // 1000))
    idle = open_session(store)
    (offered,) = store.claim(Claimant("open", idle.host), 1, lambda _: "take")
    tend = Tender(store, {A}, on_stage=lambda _: None)

    clock.go_on(WAKE_S)
    tend()

    assert offered.stage is Stage.OFFERED
    assert wakeups.unanswered_s(store, idle.host) is not None


class Counting(Store):
    """Counts how often requests are looked at, and everything is swept."""

    finds = sweeps = 0

    def find(self, request_id: RequestId) -> Found | None:
        self.finds += 1
        return super().find(request_id)

    def sweep(
        self, *, everything: bool = False, waiting: Iterable[RequestId] = ()
    ) -> int:
        self.sweeps += 1
        return super().sweep(everything=everything, waiting=waiting)


def test_a_thousand_waiters_look_no_oftener_than_the_machine_bears(
    store: Store, clock: FakeClock
) -> None:
    """One sweeps for all, and each is still asked whether it waits (P4, P9)."""
    counting = Counting(store.place, clock=clock)
    b = RequestId("b")
    counting.submit(request(b, created_at=START_US // 1000))
    told: list[Stage] = []
    all_of_them = [Tender(counting, {b}, on_stage=told.append) for _ in range(1000)]
    clock.go_on(TEND_S)

    for tend in all_of_them:
        tend()

    assert len(told) == 1000
    assert counting.sweeps == 1
    assert counting.finds <= 110
