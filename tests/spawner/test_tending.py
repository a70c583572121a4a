"""What a waiter does for what it waits for, and what no lock keeps it from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from storeworld import START_US, FakeClock, request, store_in

from bridge.protocol.ids import RequestId
from bridge.protocol.status import Stage, Status
from bridge.spawner.tending import TEND_S, Abandoned, Tender

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.store.files import FileStore

A = RequestId("a")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> FileStore:
    made = store_in(tmp_path, clock=clock, lock_wait_s=0.0)
    made.submit(request(A, timeout=1000, created_at=START_US // 1000))
    return made


def status(store: FileStore) -> Status | None:
    found = store.find(A)
    return found.status if found else None


def test_stages_are_told_while_the_lock_is_held(
    store: FileStore, clock: FakeClock, tmp_path: Path
) -> None:
    """What is overdue is ended as soon as it can be."""
    told: list[Stage] = []
    tend = Tender(store, {A}, lease_s=900, on_stage=told.append)

    with store_in(tmp_path).exclusive():
        clock.go_on(TEND_S)
        tend()
        held = status(store)
    clock.go_on(TEND_S)
    tend()

    assert told == [Stage.NO_HOST, Stage.NO_HOST]
    assert (held, status(store)) == (Status.PENDING, Status.TIMEOUT)


def test_who_is_gone_does_not_wait_for_the_lock(
    store: FileStore, clock: FakeClock, tmp_path: Path
) -> None:
    """A cancelled wait stayed for as long as somebody else held it."""

    def leave(_stage: Stage) -> None:
        raise Abandoned("gone")

    tend = Tender(store, {A}, lease_s=900, on_stage=leave)
    clock.go_on(TEND_S)

    with store_in(tmp_path).exclusive(), pytest.raises(Abandoned):
        tend()


def test_nothing_is_told_of_what_has_ended_or_before_it_is_due(
    store: FileStore, clock: FakeClock
) -> None:
    told: list[Stage] = []
    tend = Tender(store, {A}, lease_s=900, on_stage=told.append)

    for seconds in (TEND_S / 2, TEND_S / 2, TEND_S):
        clock.go_on(seconds)
        tend()

    assert told == [Stage.NO_HOST]
    assert status(store) is Status.TIMEOUT
