"""Sweep: what a kill or a dead host leaves, and what is overdue."""

import pytest
from storeworld import (
    START_US,
    claimant,
    dead_process,
    folders_of,
    path_of,
    quarantined,
    request,
    take,
    this_process,
)

from bridge.protocol.claim import Claim, FailedTry
from bridge.protocol.status import Status
from bridge.store import Claimant, sweep
from bridge.store.claim import fate_of_claimed
from bridge.store.state import State


def test_what_a_live_host_holds_is_left(store, mine):
    assert store.sweep(everything=True) == 0
    assert store.claimed() == [mine]


@pytest.mark.parametrize(
    ("route", "holder", "stage"),
    [
        ("host", "session that held", "offered"),
        ("claude", "process that served", "running"),
    ],
)
def test_after_the_last_attempt_the_failure_has_a_name(store, route, holder, stage):
    store.submit(request("a", max_attempts=2, route=route))
    for _ in range(2):
        assert store.claim_one("a", Claimant("gone", dead_process(), route))
        store.sweep()

    assert store.find("a").response.error.to_data() == {
        "code": "host_gone",
        "message": f"the {holder} the request is gone, and 2 attempts were used up",
        "stage": stage,
        "alias": None,
    }


def test_a_plain_sweep_does_not_read_the_queue(store, clock):
    store.submit(request("a", timeout=1000))
    clock.go_on(2)

    assert store.sweep() == 0
    assert store.sweep(everything=True) == 1


def test_a_sweep_looks_into_those_it_is_told_of(store, clock):
    """What is claimed, ended or unknown by now is left as it is."""
    for one in ("a", "b", "c"):
        store.submit(request(one, timeout=1000))
    store.claim(claimant(), 1, take)
    clock.go_on(0.5)

    assert store.sweep(waiting=["a", "b"]) == 0
    clock.go_on(0.5)
    assert store.sweep(waiting=["a", "b", "nobody"]) == 2

    folders = [folders_of(store, one) for one in "abc"]
    assert folders == [["done"], ["done"], ["requests"]]
    assert quarantined(store) == {}


def test_what_was_taken_without_a_name_waits_again(store):
    """The claimer was killed between the rename and the record."""
    store.submit(request("a"))
    path_of(store, "processing").mkdir(exist_ok=True)
    path_of(store, "requests", "a").rename(path_of(store, "processing", "a"))

    assert store.find("a").status is Status.PENDING
    assert store.sweep() == 1

    assert store.waiting() == ["a"]


def test_a_sweep_of_everything_lets_others_have_the_lock(store, monkeypatch):
    """Ten thousand waiting requests would hold up every hook for a second."""
    for number in range(7):
        store.submit(request(f"r{number}"))
    held = 0
    hold = State.hold

    def counted(state):
        nonlocal held
        held += 1
        return hold(state)

    monkeypatch.setattr(sweep, "HELD_S", 0)
    monkeypatch.setattr(State, "hold", counted)

    assert store.sweep(everything=True) == 0
    assert held == 7


# What becomes of a claimed request


def claimed(**fields: object):
    claim = Claim(session="s", host=this_process(), at=START_US // 1000)
    return request("a", claim=claim, **fields)


def test_every_fate_of_a_claimed_request():
    now_ms = START_US // 1000
    unnamed, late = request("a"), claimed(timeout=5)

    assert fate_of_claimed(claimed(), host_is_gone=False, now_ms=now_ms) is None
    assert fate_of_claimed(unnamed, host_is_gone=False, now_ms=now_ms) is unnamed
    again = fate_of_claimed(claimed(), host_is_gone=True, now_ms=now_ms)
    gone = "the session that held the request is gone, and 2 attempts were used up"
    failed = FailedTry(at=now_ms, code="host_gone", message=gone, attempt=1)
    prompt = again.prompt
    assert again == claimed(prompt=prompt, attempt=1, failures=(failed,))
    used_up = fate_of_claimed(claimed(attempt=1), host_is_gone=True, now_ms=now_ms)
    assert used_up.error.message == gone
    ended = fate_of_claimed(late, host_is_gone=False, now_ms=now_ms + 5)
    assert ended.error.message == (
        "no answer within 0.005 s: it had been offered to a session, which started no "
        "agent"
    )
