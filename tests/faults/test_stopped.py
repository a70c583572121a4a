"""A process stopped at each step while another does the work, then let go on."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from faultlab import Operation, prepared, tell
from storeworld import (
    answer,
    claim_all,
    finish_everything,
    folders_of,
    request,
    this_process,
)
from systemcalls import ERRORS, attach, collect, start
from thoroughness import is_full, sampled

from bridge.protocol.ids import RequestId
from bridge.store.lock import LockBusy
from bridge.store.store import Store

pytestmark = [pytest.mark.faults, pytest.mark.slow]

IDS = ("a", "b")


def work(store: Store, name: str) -> dict[str, bool]:
    """Claim and answer what waits; by id, whether this answer was the one."""
    mine = claim_all(store, this_process())
    return {
        one.request_id: store.publish(answer(one, f"by {name}"), source=name)
        for one in mine
    }


def prepare(store: Store) -> None:
    for name in IDS:
        store.submit(request(name))


OPERATION = Operation("work", prepare, lambda s: work(s, "stopped"), frozenset(IDS))


# What strace writes once the process really stands still, not between two system calls.
STOPPED = "--- stopped by SIGSTOP ---"


def stop_in(act: Callable[[], object], call: str, number: int):
    """Start `act`, stopped before its `number`th `call`; None when it has none."""
    pid, go, report = start(act)
    stop = f"inject={call}:signal=STOP:when={number}"
    with tempfile.NamedTemporaryFile("r") as log:
        tracer = attach(pid, "-o", log.name, "-e", stop)
        os.write(go, b"!")
        os.close(go)
        deadline = time.monotonic() + 300
        seen = ""
        while STOPPED not in (seen := seen + log.read()):
            if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
                collect(pid, report)
                tracer.wait()
                return None
            assert time.monotonic() < deadline
            time.sleep(0.002)
    return pid, report, tracer


def stops(operation: Operation) -> Iterator[tuple[Store, Store, Callable[[], object]]]:
    """Stop `operation` before each of its calls, which take turns.

    Gives the state, the same with little patience for a lock, and what lets the stopped
    process go on and returns what it returned.
    """
    with prepared(operation) as state:
        points = [
            (call, number)
            for call, times in state.calls().items()
            if call in ERRORS
            for number in range(1, times + 1)
        ]
        for call, number in sampled(points):
            store = state.fresh()
            stopped = stop_in(partial(operation.act, store), call, number)
            if stopped is not None:
                quick = Store(store.place, clock=store.clock, lock_wait_s=0.02)
                yield store, quick, partial(go_on, *stopped)


def go_on(pid: int, report: int, tracer: subprocess.Popen[bytes]) -> Any:
    os.kill(pid, signal.SIGCONT)
    outcome = collect(pid, report)
    tracer.wait()
    assert outcome.status == "returned", outcome.message
    return outcome.value


def test_a_stopped_claimer_and_another_never_both_have_it():
    cases = busy = 0
    for store, quick, resume in stops(OPERATION):
        won_by_other: dict[str, bool] = {}
        try:
            quick.sweep(everything=True)
            won_by_other = work(quick, "other")
        except LockBusy:
            busy += 1

        check(store, resume(), won_by_other)
        cases += 1
    assert cases > (40 if is_full() else 8)
    tell(f"{cases} stops, {busy} of them with the lock held")


def check(store: Store, mine: dict[str, bool], theirs: dict[str, bool]) -> None:
    assert not mine.keys() & theirs.keys(), "claimed by two that both live"
    ended = finish_everything(store)
    for name in IDS:
        winners = [
            who for who, won in (("stopped", mine), ("other", theirs)) if won.get(name)
        ]
        expected = f"by {winners[0]}" if winners else "finished later"
        assert len(winners) <= 1
        assert ended[name].parsed_output["summary"] == expected
        assert folders_of(store, name) == ["done"]


def test_a_stopped_publisher_and_another_leave_one_answer():
    """Both were asked for the same request: the host, and a route that stood in."""
    asked = request("a")

    def one_claimed(store):
        store.submit(asked)
        claim_all(store, this_process())

    def publish(store, name):
        return store.publish(answer(asked, f"by {name}"), source=name)

    operation = Operation(
        "publish", one_claimed, lambda s: publish(s, "stopped"), frozenset("a")
    )
    cases = 0
    for store, quick, resume in stops(operation):
        theirs = publish(quick, "other")
        early = quick.find(RequestId("a"))
        mine = resume()

        assert [mine, theirs].count(True) == 1
        ended = finish_everything(store)
        winner = "by stopped" if mine else "by other"
        assert ended["a"].parsed_output["summary"] == winner
        assert early.response in (None, ended["a"])
        assert len(store.evidence(RequestId("a"))) == 1
        cases += 1
    assert cases > (10 if is_full() else 2)
    tell(f"{cases} stops of a publisher")
