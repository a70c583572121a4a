"""A queue under kills: of workers, of askers, and of the server, at random moments.

Each request ends with one answer, the same at both ends; nothing is left on the queue.
"""

import os
import random
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
import redisworld
from faultlab import scratch
from remoteworld import Machine, acting, until
from servingworld import GOOD
from thoroughness import is_full

from bridge.protocol.ids import RequestId
from bridge.protocol.outcome import Outcome

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(1800)]

# A hundredth of it in each run: ten thousand with --full.
REQUESTS = 10_000 if is_full() else 100
WORKERS, ASKERS = 4, 3
CHANCE = random.Random(7)  # noqa: S311 - which to kill, no secret
_LEASE_S = 2.0


def forked(act) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        act()
    finally:
        os._exit(0)


def work(machine: Machine, *executors) -> None:
    """Serve until it is killed, with a lease that ends soon after that."""
    from bridge.remote import take

    take.LEASE_S, take.RENEW_S, take._TELL_S = _LEASE_S, _LEASE_S / 4, 1.0
    while True:
        try:
            machine.taker(*executors).run()
        except Exception as exc:  # noqa: BLE001 - the server was killed
            sys.stderr.write(f"{exc}\n")
            time.sleep(0.2)


def ask(machine: Machine, names: list[str]) -> None:
    """Have all that has not ended answered, one after another, as `serve` does."""
    while True:
        machine.store.sweep()
        left = [n for n in names if not machine.store.is_over(RequestId(n))]
        if not left:
            return
        try:
            machine.forward(CHANCE.choice(left))
        except Exception as exc:  # noqa: BLE001 - another asker has it, or no server
            sys.stderr.write(f"{exc!r}\n")
            time.sleep(0.05)


def answers_in(machine: Machine) -> dict[str, list[str]]:
    """The answers in a state directory, by the request of the asker."""
    found: dict[str, list[str]] = {}
    for path in (machine.store.place.state / "responses").glob("*.json"):
        response = machine.store.find(RequestId(path.stem)).response
        if response.success:
            name = path.stem.partition("-")[0]
            found.setdefault(name, []).append(response.parsed_output["summary"])
    return found


@pytest.fixture
def folder():
    made = scratch()
    yield Path(made)
    shutil.rmtree(made, ignore_errors=True)


def test_one_answer_each(folder):
    with redisworld.server() as own:
        here = Machine(folder / "here", own.address)
        there = [Machine(folder / f"there{n}", own.address) for n in range(WORKERS)]
        names = [f"q{number}" for number in range(REQUESTS)]
        for name in names:
            here.asks(name, timeout=1_500_000, max_attempts=100)
        workers = {n: forked(lambda m=m: work(m)) for n, m in enumerate(there)}
        askers = {n: forked(lambda: ask(here, names)) for n in range(ASKERS)}
        until_s = time.monotonic() + 1500
        kills = 0
        while not all(here.store.is_over(RequestId(name)) for name in names):
            assert time.monotonic() < until_s
            time.sleep(0.5)
            kills += 1
            group, start = CHANCE.choice(
                [
                    (workers, lambda n: forked(lambda: work(there[n]))),
                    (workers, lambda n: forked(lambda: work(there[n]))),
                    (askers, lambda _: forked(lambda: ask(here, names))),
                ]
            )
            number = CHANCE.choice([*group])
            os.kill(group[number], signal.SIGKILL)
            os.waitpid(group[number], 0)
            if kills == 4:
                own.kill()
                time.sleep(0.5)
                own.start()
            group[number] = start(number)
        for pid in (*workers.values(), *askers.values()):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        time.sleep(2 * _LEASE_S)
        left = [
            kind for kind in redisworld.Side(own.address, "x").queue.look().kinds
            if any(kind.waiting.values())
        ]  # fmt: skip

    assert kills > 4
    got = {name: here.response(name) for name in names}
    assert [name for name, response in got.items() if not response.success] == []
    said = [answers_in(machine) for machine in there]
    for name, response in got.items():
        everywhere = [s for found in said for s in found.get(name, [])]
        assert response.parsed_output["summary"] in everywhere, name
    assert left == []
    assert threading.active_count() < 10


def test_a_worker_that_slept_past_its_lease_changes_nothing(folder):
    """Another has answered meanwhile: what it says late is not the answer."""

    def slow(_request, control):
        until_s = time.monotonic() + 1.0
        while time.monotonic() < until_s and not control.should_stop():
            time.sleep(0.05)
        return Outcome(GOOD.replace("fine", "late"))

    with redisworld.server() as own:
        here, slept, other = (
            Machine(folder / name, own.address) for name in ("here", "slept", "other")
        )
        here.asks("a", timeout=120_000, max_attempts=5)
        first = forked(lambda: work(slept, acting(slow)))
        asker = forked(lambda: ask(here, ["a"]))
        until(lambda: slept.store.find(RequestId("a")))
        os.kill(first, signal.SIGSTOP)
        second = forked(lambda: work(other))
        until(lambda: here.store.is_over(RequestId("a")), 90)
        os.kill(first, signal.SIGCONT)
        until(lambda: slept.store.is_over(RequestId("a")))
        for pid in (first, second, asker):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    assert here.response("a").parsed_output["summary"] == "fine"
    assert other.response("a").parsed_output == here.response("a").parsed_output
