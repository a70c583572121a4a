"""Serve one request after another: a failure of one spares the others."""

import re
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from servingworld import GOOD, new_worker
from storeworld import claimant, dead_process, request, store_in

from bridge.errors import BridgeError, StateUnavailable
from bridge.protocol.ids import RequestId
from bridge.protocol.outcome import Outcome
from bridge.store import Claimant
from bridge.store.switch import is_off, switch_off, switch_on
from bridge.worker import serve_loop
from bridge.worker.serve_loop import serve


class Busy:
    """An executor; something happens while it answers."""

    def __init__(self, meanwhile=lambda _: None):
        self.asked: list[str] = []
        self._meanwhile = meanwhile

    def answer(self, asked, *_):
        self.asked.append(asked.request_id)
        self._meanwhile(asked.request_id)
        return Outcome(GOOD)


def failing(raised: Exception) -> Busy:
    """An executor that fails on the request `bad`."""

    def act(name: str) -> None:
        if name == "bad":
            raise raised

    return Busy(act)


@pytest.fixture
def store(tmp_path):
    made = store_in(tmp_path)
    for name in ("bad", "good", "more"):
        made.submit(request(name, route="claude"))
    return made


def served(store, executor, bugs=None, *, once=True, on_trouble=lambda _: None):
    """Each request that was served, with its error code."""
    noted = [] if bugs is None else bugs
    found = serve(
        store,
        {"claude": new_worker(store, executor)},
        is_off=lambda: is_off(store),
        once=once,
        on_bug=lambda request_id, exc: noted.append((request_id, exc)),
        on_trouble=on_trouble,
    )
    ended = [(each.request_id, each.error and each.error.code) for each in found]
    return sorted(ended)


def pauses(monkeypatch, count, at=()):
    """Act at some pauses of an endless loop; the last one interrupts it."""
    taken = 0

    def pause(_events: object, _most_s: float) -> None:
        nonlocal taken
        taken += 1
        dict(at).get(taken, lambda: None)()
        if taken >= count:
            raise KeyboardInterrupt

    monkeypatch.setattr(serve_loop.FolderEvents, "wait", pause)


def served_on(store, busy, monkeypatch, count, at=()):
    """Serve without an end, until so many pauses have been taken."""
    pauses(monkeypatch, count, at)
    with pytest.raises(KeyboardInterrupt):
        served(store, busy, once=False)


def test_error_a_bug_ends_one_request_and_no_other(store):
    bug = ZeroDivisionError("one of ours")
    bugs = []

    ended = served(store, failing(bug), bugs)

    assert ended == [("bad", "agent_error"), ("good", None), ("more", None)]
    assert bugs == [("bad", bug)]


def test_error_a_request_that_cannot_be_ended_is_tried_once(store, monkeypatch):
    """Its claim ends with the process, or at the deadline."""
    bugs = []
    bug = ZeroDivisionError("when it was claimed")
    claim_one = store.claim_one

    def claim(request_id, *how):
        if request_id == "bad":
            raise bug
        return claim_one(request_id, *how)

    monkeypatch.setattr(store, "claim_one", claim)

    ended = served(store, failing(bug), bugs)

    assert ended == [("good", None), ("more", None)]
    assert bugs == [("bad", bug)]


def test_error_a_definition_that_cannot_be_used_is_no_bug(store):
    bugs = []

    ended = served(store, failing(BridgeError("nobody knows it")), bugs)

    assert ("bad", "bad_definition") in ended
    assert (len(ended), bugs) == (3, [])


def test_a_queue_that_does_not_change_is_not_read_again(store, monkeypatch):
    """Thousands may wait for a session, or for a route that nobody serves here."""
    for name in ("bad", "good", "more"):
        store.claim_one(RequestId(name), claimant())
    store.submit(request("theirs", route="host"))
    looks = 0
    waiting = store.waiting

    def counted() -> list[RequestId]:
        nonlocal looks
        looks += 1
        return waiting()

    monkeypatch.setattr(store, "waiting", counted)
    busy = Busy()
    late = {5: lambda: store.submit(request("late", route="claude"))}

    served_on(store, busy, monkeypatch, 10, late)

    assert busy.asked == ["late"]
    # The sweep's and the first; when something came; when that had gone.
    assert looks == 4


def test_error_once_while_the_lock_is_held(store, tmp_path):
    """Otherwise it would end as if it had served everything."""
    hurried = store_in(tmp_path, lock_wait_s=0.05)
    lock = re.escape(f"{store.place.state}/locks/store.lock")
    with (
        store.exclusive(),
        pytest.raises(StateUnavailable, match=f"^{lock} is held by this very thread"),
    ):
        served(hurried, Busy())

    assert len(store.waiting()) == 3


def test_a_held_lock_is_reported_once_and_tried_again(store, tmp_path, monkeypatch):
    """Each time that it is held is reported, and only once."""
    hurried = store_in(tmp_path, lock_wait_s=0.0)
    holder = ExitStack()

    def hold_again() -> None:
        store.submit(request("late", route="claude"))
        holder.enter_context(store.exclusive())

    pauses(monkeypatch, 6, {3: holder.close, 4: hold_again})
    busy = Busy()
    troubles = []
    holder.enter_context(store.exclusive())

    with holder, pytest.raises(KeyboardInterrupt):
        served(hurried, busy, once=False, on_trouble=troubles.append)

    assert sorted(busy.asked) == ["bad", "good", "more"]
    assert len(troubles) == 2


@pytest.mark.parametrize("once", [True, False])
def test_nothing_is_taken_while_switched_off(store, monkeypatch, *, once):
    """Waiting requests go on waiting; they are not ended as stopped."""
    pauses(monkeypatch, 3, {})
    busy = Busy(lambda _: switch_off(store))

    with suppress(KeyboardInterrupt):
        served(store, busy, once=once)

    assert len(busy.asked) == 1
    assert len(store.waiting()) == 2


def test_it_goes_on_when_switched_on_again(store, monkeypatch):
    """Also if the queue has not changed meanwhile."""
    busy = Busy(lambda _: switch_off(store) if len(busy.asked) == 1 else None)

    served_on(store, busy, monkeypatch, 4, {2: lambda: switch_on(store)})

    assert sorted(busy.asked) == ["bad", "good", "more"]


def test_an_urgent_request_comes_next(tmp_path, monkeypatch):
    """It waits for one other request at most."""
    store = store_in(tmp_path)
    for name in ("first", "second"):
        store.submit(request(name, route="claude", priority="low"))

    def ask(served_now: str) -> None:
        if served_now == "first":
            store.submit(request("urgent", route="claude", priority="high"))

    busy = Busy(ask)

    served_on(store, busy, monkeypatch, 1)

    assert busy.asked == ["first", "urgent", "second"]


def test_once_serves_what_waits_at_the_start(tmp_path):
    """A program that asks again after each answer would keep it running."""
    store = store_in(tmp_path)
    store.submit(request("first", route="claude"))
    busy = Busy(lambda name: store.submit(request(f"{name}-more", route="claude")))

    served(store, busy)

    assert busy.asked == ["first"]
    assert store.waiting() == ["first-more"]


def test_it_sweeps_between_two_requests(store, monkeypatch):
    """Requests of dead processes do not wait for the end of a long queue."""
    gone = Claimant("claude-1", dead_process(), "claude")
    served_by_the_dead = RequestId("bad")
    now_s = 0.0

    def work(_name: str) -> None:
        nonlocal now_s
        if now_s == 0.0:
            assert store.claim_one(served_by_the_dead, gone)
        now_s += 10.0

    monkeypatch.setattr(serve_loop.time, "monotonic", lambda: now_s)
    pauses(monkeypatch, 1)
    store.submit(request("z", route="claude", priority="high"))
    busy = Busy(work)

    with pytest.raises(KeyboardInterrupt):
        served(store, busy, once=False)

    assert busy.asked[0] == "z"
    assert sorted(busy.asked) == ["bad", "good", "more", "z"]


def test_the_end_of_a_long_queue_costs_no_more_than_its_start(tmp_path, monkeypatch):
    """It is not listed for each request, and others' requests are read once."""
    monkeypatch.setattr(serve_loop, "_SHORT", 4)
    store = store_in(tmp_path)
    for number in range(40):
        store.submit(request(f"theirs-{number}", priority="high"))
        store.submit(request(f"ours-{number}", route="claude"))
    looks, found = 0, 0
    waiting, find = store.waiting, store.find

    def slow() -> list[RequestId]:
        nonlocal looks, now_s
        looks += 1
        now_s += 1.0
        return waiting()

    def counted(request_id: RequestId) -> Any:
        nonlocal found
        found += request_id.startswith("theirs")
        return find(request_id)

    def work(_name: str) -> None:
        nonlocal now_s
        now_s += 1.0

    now_s = 0.0
    monkeypatch.setattr(serve_loop.time, "monotonic", lambda: now_s)
    monkeypatch.setattr(serve_loop, "_SWEEP_S", 1e6)
    monkeypatch.setattr(store, "waiting", slow)
    monkeypatch.setattr(store, "find", counted)
    busy = Busy(work)

    served_on(store, busy, monkeypatch, 1)

    assert len(busy.asked) == 40
    # The sweep's, the first, one in twenty seconds, the last.
    assert looks == 5
    # By the sweep, before and after it, and once by the queue.
    assert found <= 3 * 40
