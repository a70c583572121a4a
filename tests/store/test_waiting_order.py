"""In which order requests are taken, and the order that is remembered."""

import os
from random import Random

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from storeworld import START_US, claimant, drop, path_of, request, this_process

from bridge.protocol.ids import PRIORITIES, new_request_id
from bridge.store.queries import in_order
from bridge.store.store import Store

pytestmark = pytest.mark.slow

# Order


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.sampled_from(["high", "normal", "low"])),
        max_size=30,
    )
)
def test_priority_first_then_the_oldest(asked):
    ids = [new_request_id(at, priority) for at, priority in asked]

    ordered = list(in_order(ids, lambda _: None))

    level = {"h": 0, "n": 1, "l": 2}
    keys = [(level[i[12]], i[:11]) for i in ordered]
    assert keys == sorted(keys)
    assert sorted(ordered) == sorted(ids)


def test_foreign_ids_are_asked_for_their_rank():
    ours = new_request_id(5_000_000)
    ranks = {"hand-made": ("high", 9_000_000), "old": ("normal", 4_000_000)}

    ordered = in_order([ours, "old", "hand-made", "void"], ranks.get)

    assert list(ordered) == ["hand-made", "old", ours]


# A long queue


def fill(store: Store, count: int) -> list[str]:
    asked = [request(new_request_id(START_US + n)) for n in range(count)]
    for one in asked:
        store.submit(one)
    return [one.request_id for one in asked]


def first(count: int):
    """Judge: take the first `count`, leave the rest."""
    taken: list[str] = []

    def judge(one):
        if len(taken) >= count:
            return "leave"
        taken.append(one.request_id)
        return "take"

    return judge


HAND = {"requestId": "hand", "agentType": "a", "prompt": "?", "priority": "high"}


def by_hand(store: Store) -> None:
    drop(store, "requests", "hand.json", orjson.dumps(HAND | {"timeout": 10**10}))


@pytest.mark.parametrize("when", [0, 1, 2], ids=["first", "between", "last"])
def test_what_is_dropped_during_a_claim_is_seen_by_the_next(store, when):
    """It came after the queue was listed."""
    fill(store, 60)
    asked: list[str] = []

    def judge(one):
        if len(asked) == when:
            by_hand(store)
        asked.append(one.request_id)
        return "take" if len(asked) < 3 else "leave"

    store.claim(claimant(), 3, judge)

    assert store.claim(claimant(), 9, first(1))[0].request_id == "hand"


@pytest.mark.parametrize("seed", range(4))
def test_the_order_is_kept_whatever_comes_between(store, seed):
    """Submitted, dropped, given back: each claim takes what is first just then."""
    dice = Random(seed)  # noqa: S311 - reproducible
    waiting: dict[str, tuple[int, int, str]] = {}

    def come(how):
        level = dice.choice(PRIORITIES)
        at_us = START_US + 1000 * dice.randrange(10**6)
        one = new_request_id(at_us, level)
        if how != "ours":
            one = f"hand-{one}"
        asked = request(one, priority=level, created_at=at_us // 1000)
        waiting[one] = (PRIORITIES.index(level), at_us, one)
        if how == "dropped":
            drop(store, "requests", f"{one}.json", asked.to_json())
        else:
            store.submit(asked)

    for _ in range(60):
        come("ours")
    for _ in range(100):
        if dice.random() < 0.5:
            come(dice.choices(["ours", "foreign", "dropped"], [20, 1, 1])[0])
            continue
        expected = min(waiting, key=lambda one: waiting[one])
        (mine,) = store.claim(claimant(), len(store.claimed()) + 1, first(1))
        assert mine.request_id == expected
        if dice.random() < 0.3:
            store.give_back(mine.request_id, this_process(), lambda held: held)
        else:
            del waiting[expected]


def test_a_look_that_takes_nothing_leaves_the_folder_as_it_was(store):
    """Hooks tell by its time that there is nothing new."""
    fill(store, 60)
    os.utime(path_of(store, "requests"), (1, 1))

    assert store.claim(claimant(), 9, first(0)) == []

    assert path_of(store, "requests").stat().st_mtime == 1
