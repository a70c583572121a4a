"""In which order requests are taken, and the order that is remembered."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from storeworld import (
    START_US,
    claim_all,
    claimant,
    drop,
    path_of,
    request,
    take,
    this_process,
)

from bridge.protocol.ids import new_request_id
from bridge.store.backlog import NAME as BACKLOG
from bridge.store.order import in_order

if TYPE_CHECKING:
    from bridge.store.files import FileStore

# Order


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.sampled_from(["high", "normal", "low"])),
        max_size=30,
    )
)
def test_priority_first_then_the_oldest(asked: list[tuple[int, str]]):
    ids = [new_request_id(at, priority) for at, priority in asked]  # type: ignore[arg-type]

    ordered = list(in_order(ids, lambda _: None))

    level = {"h": 0, "n": 1, "l": 2}
    keys = [(level[i[12]], i[:11]) for i in ordered]
    assert keys == sorted(keys)
    assert sorted(ordered) == sorted(ids)


def test_foreign_ids_are_asked_for_their_rank():
    ours = new_request_id(5_000_000)
    ranks = {"hand-made": ("high", 9_000_000), "old": ("normal", 4_000_000)}

    ordered = in_order([ours, "old", "hand-made", "void"], ranks.get)  # type: ignore[arg-type, return-value]

    assert list(ordered) == ["hand-made", "old", ours]


# The backlog


def fill(store: FileStore, count: int) -> list[str]:
    asked = [request(new_request_id(START_US + n)) for n in range(count)]
    for one in asked:
        store.submit(one)
    return [one.request_id for one in asked]


def test_a_long_queue_is_taken_in_order_across_claims(store: FileStore):
    ids = fill(store, 60)

    taken = [
        r.request_id for _ in range(3) for r in store.claim(claimant(), 100, first(20))
    ]

    assert taken == ids


def first(count: int):
    """Judge: take the first `count`, leave the rest."""
    taken: list[str] = []

    def judge(one):
        if len(taken) >= count:
            return "leave"
        taken.append(one.request_id)
        return "take"

    return judge


def test_a_newcomer_is_seen_though_the_order_was_remembered(store: FileStore):
    fill(store, 60)
    store.claim(claimant(), 2, take)
    assert path_of(store, BACKLOG).exists()

    urgent = new_request_id(START_US + 99, "high")
    store.submit(request(urgent))

    assert store.claim(claimant(), 3, take)[0].request_id == urgent


def test_a_dropped_newcomer_is_seen_though_the_order_was_remembered(store: FileStore):
    fill(store, 60)
    store.claim(claimant(), 2, take)
    time.sleep(0.02)

    body = {"requestId": "hand", "agentType": "a", "prompt": "?"}
    body |= {"priority": "high", "timeout": 10**10}
    drop(store, "requests", "hand.json", orjson.dumps(body))

    assert store.claim(claimant(), 3, take)[0].request_id == "hand"


def test_what_is_given_back_is_next_again(store: FileStore):
    ids = fill(store, 60)
    store.claim(claimant(), 2, take)

    store.give_back(ids[0], this_process(), lambda r: r)  # type: ignore[arg-type]

    assert store.claim(claimant(), 2, take)[0].request_id == ids[0]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"changed": 1, "ids": [5, "../x"]}']
)
def test_a_spoilt_order_costs_time_only(store: FileStore, content: bytes):
    ids = fill(store, 40)
    store.claim(claimant(), 1, take)
    path = path_of(store, BACKLOG)
    known = orjson.loads(path.read_bytes())
    path.write_bytes(content.replace(b"1,", b"%d," % known["changed"]))

    assert {r.request_id for r in claim_all(store)} == set(ids[1:])
