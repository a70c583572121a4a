"""What a store does, each with a state that it has something to do in."""

import functools
import time

from faultlab import Operation
from storeworld import (
    START_US,
    FakeClock,
    answer,
    claim_all,
    claimant,
    dead_process,
    drop,
    path_of,
    request,
    take,
)

from bridge.protocol.ids import RequestId
from bridge.protocol.response import failed
from bridge.store.store import Store

# Made once, and before anything is broken: who claims in a case is gone after it.
_dead = functools.cache(dead_process)


def _one_claimed(store: Store) -> None:
    store.submit(request("a"))
    store.claim(claimant(_dead()), 1, take)


def _mess(store: Store) -> None:
    """All that a sweep has to do with."""
    for name in ("back", "used-up", "answered"):
        store.submit(request(name, max_attempts=1 if name == "used-up" else 3))
    store.claim(claimant(_dead()), 9, take)
    store.submit(request("late", timeout=1))
    store.submit(request("unnamed"))
    path_of(store, "requests", "unnamed").rename(
        path_of(store, "processing", "unnamed")
    )
    held = {one.request_id: one for one in store.claimed()}
    store.publish(answer(held["answered"]), source="test")
    path_of(store, "done", "answered").rename(path_of(store, "processing", "answered"))
    drop(store, "requests", "broken.json", "{")


def _finished(store: Store) -> None:
    for name in ("old", "older"):
        store.submit(request(name, dedup_key=name))
        for mine in claim_all(store):
            store.publish(answer(mine), source="test")
            store.publish(answer(mine, "again"), source="test")
    store.submit(request("waiting"))
    with store.state() as state, state["requests"] as queue:
        queue.prepare("half.json", b"half")


def _publish(store: Store) -> object:
    (mine,) = store.claimed()
    return store.publish(answer(mine, "by the agent"), source="test")


def _cancel(store: Store) -> object:
    end = failed(request("a"), "cancelled", "by a person", now_ms=START_US // 1000)
    return store.publish(end, source="cancel")


def _give_back(store: Store) -> object:
    (mine,) = store.claimed()
    return store.give_back(RequestId("a"), mine.claim.host, lambda r: r)


def _fail(store: Store) -> object:
    """A try fails, with some last words; the request is to be tried again."""
    (mine,) = store.claimed()
    end = failed(mine, "empty_answer", "it is empty", now_ms=store.now_ms(), raw="…")
    return store.end_try(end, is_mine=lambda c: c == mine.claim, source="test")


def _prune(store: Store) -> object:
    later = FakeClock(time.time_ns() // 1000 + 10 * 86_400 * 1_000_000)
    return Store(store.place, clock=later, lock_wait_s=5).prune(older_than_days=1)


def _claim(store: Store) -> object:
    return [one.request_id for one in claim_all(store, _dead())]


def _fill(store: Store) -> None:
    _dead()
    store.submit(request("a"))
    store.submit(request("late", timeout=1))
    store.submit(request("b"))


def _submit(store: Store) -> object:
    return store.submit(request("new", dedup_key="k")).is_new


OPERATIONS = [
    Operation("submit", lambda s: s.submit(request("a")), _submit, frozenset("a")),
    Operation("first submit", lambda _: None, _submit),
    Operation("claim", _fill, _claim, frozenset(("a", "b", "late"))),
    Operation("publish", _one_claimed, _publish, frozenset("a")),
    Operation("cancel", lambda s: s.submit(request("a")), _cancel, frozenset("a")),
    Operation("give back", _one_claimed, _give_back, frozenset("a")),
    Operation("failed try", _one_claimed, _fail, frozenset("a")),
    Operation(
        "sweep",
        _mess,
        lambda s: s.sweep(everything=True),
        frozenset(("back", "used-up", "answered", "late", "unnamed")),
    ),
    Operation("prune", _finished, _prune, frozenset(("waiting",))),
]
