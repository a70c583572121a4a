"""One handle: opened for a call, or held open for an operation."""

import os
import shutil
import threading

import pytest
from storeworld import (
    answer,
    claim_all,
    claimant,
    drop,
    path_of,
    request,
    take,
    this_process,
)

from bridge.errors import StateVanished
from bridge.store import records, sweep
from bridge.store import state as state_module
from bridge.store.lock import TURN_S, LockBusy
from bridge.store.store import Store


@pytest.fixture
def opened(monkeypatch):
    """The state directories that are opened from now on."""
    found: list[str] = []
    real = state_module.open_state

    def counted(place, **how):
        found.append(str(place.state))
        return real(place, **how)

    monkeypatch.setattr(state_module, "open_state", counted)
    return found


def test_an_operation_opens_the_state_once(store, opened):
    """A hook opened it up to nine times."""
    with store.open() as state, state.open() as same:
        state.submit(request("a"))
        [held] = claim_all(same)
        state.publish(answer(held), source="test")
        assert state.find(held.request_id).response

    assert opened == [str(store.place.state)]


def test_without_an_open_one_each_call_opens_it(store, opened):
    """Threads share such a store: nothing that is open belongs to two of them."""
    store.submit(request("a"))
    store.waiting()

    assert len(opened) == 2


def test_an_open_store_closes_what_it_opened(store):
    store.submit(request("a"))
    before = len(os.listdir("/dev/fd"))

    with store.open() as state:
        state.waiting()
        state.claimed()
        assert len(os.listdir("/dev/fd")) > before

    assert len(os.listdir("/dev/fd")) == before


def test_a_reader_makes_nothing(store):
    with pytest.raises(StateVanished), store.open(make=False):
        pass
    assert not path_of(store, "").exists()

    path_of(store, "").mkdir(parents=True, mode=0o700)
    with store.open(make=False) as state:
        assert state.claimed() == []
        assert state.waiting() == []
    assert store.claimed() == []
    assert (store.evidence("a"), store.files_about("a"), store.history("a")) == (
        [],
        [],
        [],
    )
    assert os.listdir(path_of(store, "")) == []


CHANGES = [
    lambda store: store.claim_one("a", claimant()),
    lambda store: store.change_held("a", this_process(), lambda held: held),
    lambda store: store.change_claim("a", this_process(), lambda claim: claim),
    lambda store: store.give_back("a", this_process(), lambda held: held),
    lambda store: store.claim(claimant(), 1, take, only="a"),
    lambda store: store.sweep(),
]


@pytest.mark.parametrize("change", CHANGES)
def test_error_a_change_waits_for_the_lock(store, change):
    with Store(store.place).exclusive(), pytest.raises(LockBusy):
        change(store)


def test_error_the_state_goes_while_it_is_open(store):
    with store.open() as state:
        shutil.rmtree(store.place.state)
        with pytest.raises(StateVanished):
            state.submit(request("a"))


def test_the_lock_held_by_an_operation_serves_all_its_steps(store):
    """Others wait until the last of them."""
    with store.open() as state, state.exclusive():
        state.submit(request("a"))
        assert [r.request_id for r in claim_all(state)] == ["a"]
        with pytest.raises(LockBusy):
            store.until(0).submit(request("b"))


def test_a_deadline_holds_for_an_open_store(store):
    """It is counted from each transition, not from the opening."""
    waited: list[float] = []

    def contest():
        with store.open() as state, pytest.raises(LockBusy, match=r"waited 0\.2 s"):
            state.until(0).submit(request("b"))
        waited.append(1)

    with store.exclusive():
        thread = threading.Thread(target=contest)
        thread.start()
        thread.join()

    assert waited == [1]


def test_a_claimed_request_is_parsed_once(store, monkeypatch):
    """A hook looks at what is held in its sweep, its offers and its claim."""
    for name in "ab":
        store.submit(request(name))
    claim_all(store)
    parsed: list[str] = []
    real = records.parse

    def counted(kind, data):
        found = real(kind, data)
        parsed.append(found.request_id)
        return found

    monkeypatch.setattr(records, "parse", counted)

    with store.open() as state:
        before = state.claimed()
        state.sweep()
        assert state.claimed() == before
        assert sorted(parsed) == ["a", "b"]

        # Whatever another process changes is seen.
        store.change_held(
            before[0].request_id, this_process(), lambda r: r.with_(attempt=2)
        )
        assert [r.attempt for r in state.claimed()] == [2, 0]


def test_what_can_be_read_by_now_is_no_longer_unread(store):
    """An open store may live longer than the trouble with a file."""
    newer = '{"requestId": "a", "schemaVersion": 2}'
    with store.open() as opened, opened.state() as state:
        drop(store, "requests", "a.json", newer)
        assert state.find_waiting("a") is None
        assert state.unread == {"a": "newer"}

        drop(store, "requests", "a.json", request("a").to_json())
        assert state.find_waiting("a") is not None
        assert state.unread == {}


def test_a_record_of_just_now_is_read_again(store):
    """Two changes within one tick of the kernel's clock may leave the same facts."""
    store.submit(request("a"))
    [held] = claim_all(store)

    with store.open() as state:
        for attempt in range(50):
            store.change_held(
                held.request_id, this_process(), lambda r, n=attempt: r.with_(attempt=n)
            )
            assert [r.attempt for r in state.claimed()] == [attempt]


def test_only_a_loop_lets_others_in_between(store, monkeypatch):
    """One transition after the other costs no pause; rounds of a sweep do."""
    slept: list[float] = []
    monkeypatch.setattr(state_module.time, "sleep", slept.append)
    monkeypatch.setattr(sweep, "HELD_S", 0)

    with store.open() as state:
        for name in "abc":
            state.submit(request(name))
        assert slept == []

        state.sweep(everything=True)

    assert slept == [TURN_S, TURN_S]
