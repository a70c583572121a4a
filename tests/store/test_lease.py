"""Leases: when a host that cannot be seen from here counts as gone."""

import os

import orjson
from storeworld import FakeClock, claimant, drop, request, take, unseen_process

from bridge.store.claim import host_is_gone
from bridge.store.store import Store


def beat(store: Store, session: str, at_s: float) -> None:
    path = drop(store, "sessions", f"{session}.beat", b"")
    os.utime(path, (at_s, at_s))


def gone(store: Store, now_s: float, sign_ms: int = 0) -> bool:
    store.clock = FakeClock(int(now_s * 1_000_000))
    with store.state() as state:
        return host_is_gone(state, "s", unseen_process(), sign_ms=sign_ms)


def test_an_unseen_host_lives_as_long_as_it_beats(store):
    beat(store, "s", 10_000)

    assert not gone(store, now_s=10_900)
    assert gone(store, now_s=10_901)


def test_an_unseen_host_that_never_beat_lives_by_its_last_sign(store):
    """The first event of a session claims before any beat is written."""
    assert not gone(store, now_s=10_900, sign_ms=10_000_000)
    assert gone(store, now_s=10_901, sign_ms=10_000_000)
    assert gone(store, now_s=10_000)


def test_a_beat_in_the_future_does_no_harm(store):
    beat(store, "s", 99_000)

    assert not gone(store, now_s=10_000)


def test_after_clear_the_beat_of_the_new_session_counts(store):
    """`/clear` gives the process another session id; its agents run on."""
    host = unseen_process()
    record = {"sessionId": "new", "host": host.to_data()}
    drop(store, "sessions", "new.json", orjson.dumps(record))
    beat(store, "new", 10_000)
    drop(store, "sessions", "other.json", b"{}")
    beat(store, "other", 20_000)

    assert not gone(store, now_s=10_900)
    assert gone(store, now_s=10_901)


def test_the_claim_of_an_unseen_host_is_kept_for_the_lease(store, clock):
    store.submit(request("a"))
    store.claim(claimant(unseen_process()), 1, take)

    clock.go_on(900)
    assert store.sweep() == 0
    clock.go_on(1)
    assert store.sweep() == 1
    assert store.waiting() == ["a"]
