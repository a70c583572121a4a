"""Identities, clocks, two publishers, no flock, a crowd."""

import os
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import needs
import pytest
from counted import lines_of
from faultlab import prepared, tell
from storeoperations import OPERATIONS
from storeworld import (
    answer,
    claim_all,
    claimant,
    path_of,
    request,
    store_in,
    take,
    this_process,
    tree,
)
from systemcalls import run_broken, together
from thoroughness import crossed, is_full

from bridge.protocol.ids import RequestId, new_request_id
from bridge.store.store import Store

pytestmark = pytest.mark.faults

A = RequestId("a")


# A pid that is used again


OTHERS = {
    "start": {"start_time": "1"},
    "boot": {"boot": "an earlier"},
    "pid": {"pid": 1},
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_live_pid_that_is_another_process_holds_nothing(tmp_path, other):
    store = store_in(tmp_path)
    store.submit(request("a"))
    former = this_process().with_(**other)
    store.claim(claimant(former), 1, take)

    assert store.sweep() == 1

    (mine,) = claim_all(store)
    assert store.change_claim(A, former, lambda c: c) is None
    assert mine.attempt == 1


# Wall clocks that differ


STEP = """
import os, sys, time
sys.path[:0] = sys.argv[3].split(":")
from pathlib import Path
from storeworld import *
store = store_in(Path(sys.argv[1]))
now_ms = store.now_ms()
if sys.argv[2] == "submit":
    store.submit(request("a", created_at=now_ms, timeout=60_000))
elif sys.argv[2] == "work":
    store.sweep(everything=True)
    for mine in claim_all(store):
        store.publish(answer(mine), source="test")
else:
    began, timeout_s = time.monotonic(), float(sys.argv[2])
    found = list(store.wait(["a"], timeout_s=timeout_s))
    print(len(found), time.monotonic() - began >= timeout_s)
"""
DAYS = {"a day on": "+1d", "a day back": "-1d", "right": "+0d"}


def step(tmp_path: Path, what: str, clock: str) -> str:
    here = Path(__file__).parents[1]
    done = subprocess.run(
        [
            needs.tool("faketime"), "-f", clock, sys.executable, "-c", STEP,
            str(tmp_path), what, f"{here}:{here.parent}",
        ],
        env=os.environ | {"FAKETIME_DONT_FAKE_MONOTONIC": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )  # fmt: skip
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asker", "waiter"), crossed(DAYS, ["a day back", "right", "a day on"])
)
def test_clocks_that_differ_lose_nothing(tmp_path, asker, waiter):
    step(tmp_path, "submit", DAYS[asker])
    assert step(tmp_path, "1", DAYS[waiter]) == "0 True\n"
    step(tmp_path, "work", DAYS["right"])

    assert step(tmp_path, "36000", DAYS[waiter]) == "1 False\n"

    found = store_in(tmp_path).find(A)
    assert found is not None
    # Asked a day ago, as the clock has it: by then its time was over.
    expected = "timeout" if asker == "a day back" else "completed"
    assert found.status == expected


# Two answers at once


@pytest.mark.slow
@pytest.mark.parametrize("words", ["the same", "their own"])
def test_of_many_answers_at_once_one_wins(tmp_path, words):
    rounds, publishers = 60 if is_full() else 15, 3
    store = store_in(tmp_path, lock_wait_s=30.0)
    for number in range(rounds):
        name = f"r-{number}"
        store.submit(request(name))
        (mine,) = claim_all(store)

        def publish(who, one=mine):
            text = "so" if words == "the same" else f"says {who}"
            route = "host" if who else "claude"
            end = answer(one, text).with_(route=route)
            return store.publish(end, source=f"publisher {who}")

        ended = together(partial(publish, who) for who in range(publishers))
        won = [each.value for each in ended]

        assert won.count(True) == 1, won
        found = store.find(RequestId(name))
        winner = won.index(True)
        assert found.response.route == ("host" if winner else "claude")
        if words == "their own":
            assert found.response.parsed_output["summary"] == f"says {winner}"
        assert len(store.evidence(RequestId(name))) == publishers - 1
    tell(f"{rounds} races of {publishers}")


# No flock


REFUSALS = {
    "ENOSYS": "Function not implemented",
    "EOPNOTSUPP": "Operation not supported",
    "ENOLCK": "No locks available",
}


@pytest.mark.parametrize("error", list(REFUSALS))
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_error_a_file_system_without_flock(operation, error):
    with prepared(operation) as state:
        store = state.fresh()
        before = files(store)

        fault = f"inject=flock:error={error}:when=1+"
        outcome = run_broken(lambda: operation.act(store), "-e", fault)

        assert outcome.message == (
            f"StateUnavailable: {store.place.state}/locks/store.lock: cannot be locked "
            f"({REFUSALS[error]}); the state directory must lie on a local file system "
            "with a working flock"
        )
        assert files(store) == before


def files(store: Store) -> dict[str, bytes]:
    if not store.place.state.exists():
        return {}
    found = tree(store.place.state)
    return {n: d for n, d in found.items() if d is not None and "locks/" not in n}


# Thousands waiting, thousands finished


@pytest.mark.slow
def test_a_crowd_costs_the_few_nothing(tmp_path):
    few, many = store_in(tmp_path / "few"), store_in(tmp_path / "many")
    number = 1_000 if is_full() else 200
    crowd(few, number)
    crowd(many, 10 * number)
    for store in (few, many):
        store.claim(claimant(), 4, take)

    looks = {store: lines_of(store.has_waiting) for store in (few, many)}
    claims = {
        store: statistics.median(lines_of(answer_and_claim, store) for _ in range(12))
        for store in (few, many)
    }

    costs = f"look {looks[few]} and {looks[many]}"
    tell(f"{costs}, claim {claims[few]} and {claims[many]} lines of Python")
    assert looks[many] == looks[few]
    # Each name is listed and put in order: two lines. To read its file takes hundreds.
    assert claims[many] - claims[few] < 2.5 * 9 * number


def crowd(store: Store, count: int) -> None:
    base_us = time.time_ns() // 1000
    with store.state() as state:
        for folder in ("requests", "done", "responses"):
            state[folder]
    for number in range(count):
        waits = request(new_request_id(base_us + number))
        path_of(store, "requests", waits.request_id).write_bytes(waits.to_json())
        ended = new_request_id(base_us - 1 - number)
        for folder in ("done", "responses"):
            path_of(store, folder, ended).write_bytes(b"{}")


def answer_and_claim(store: Store) -> None:
    for mine in store.claimed():
        store.publish(answer(mine), source="test")
    store.claim(claimant(), 1, take)


def test_what_was_left_over_is_finished(tmp_path):
    """What an old version left beside what we do not know."""
    store = store_in(tmp_path)
    store.submit(request("a"))
    for name in ("future.json", "future.d", "note.txt"):
        (store.place.state / "requests" / name).write_text('{"schemaVersion": 99}')
    (store.place.state / "newfolder").mkdir()

    store.sweep(everything=True)
    (mine,) = claim_all(store)

    assert store.publish(answer(mine), source="test")

    left = {p.name for p in path_of(store, "requests").iterdir()}
    assert left == {"future.json", "future.d", "note.txt"}
