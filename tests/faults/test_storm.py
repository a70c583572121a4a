"""Many submitters, claimers and pollers, killed at random; what each saw.

Every claimer writes down when it held what, in time of one clock, from inside: after a
claim returned, until before it gave the request back, or until it was killed. Two such
spans of one request that overlap are a double live claim.
"""

import contextlib
import itertools
import os
import random
import shutil
import signal
import struct
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faultlab import scratch, tell
from storeworld import answer, claimant, folders_of, request, store_in, this_process
from thoroughness import rounds

from bridge.errors import BridgeError
from bridge.protocol.ids import RequestId, new_request_id
from bridge.store.store import Store

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(900)]

CLAIMS, KILLS = rounds(10_000), rounds(300)
CLAIMERS, SLOTS, REQUESTS = 4, 48, 400
CHANCE = random.Random(5)  # noqa: S311 - which to kill, no secret
_LINE = struct.Struct("<qqq")  # request, from, until (0: to the end)


@pytest.fixture
def store():
    folder = scratch()
    yield store_in(folder, lock_wait_s=60.0)
    shutil.rmtree(folder)


def fork(act: Callable[[], object]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        with contextlib.suppress(KeyboardInterrupt):
            act()
    finally:
        os._exit(0)


def claim_and_give_back(store: Store, log: Path) -> None:
    """Take, hold for a moment, let go: for ever."""
    me = this_process()
    with log.open("ab", buffering=0) as told:
        while True:
            mine = store.claim(
                claimant(me, f"s-{os.getpid()}"), SLOTS, lambda _: "take"
            )
            began = time.monotonic_ns()
            numbers = [int(one.prompt) for one in mine]
            told.write(b"".join(_LINE.pack(n, began, 0) for n in numbers))
            for one, number in zip(mine, numbers, strict=True):
                told.write(_LINE.pack(number, began, time.monotonic_ns()))
                store.give_back(RequestId(one.request_id), me, lambda r: r)


def poll(store: Store, ids: list[RequestId]) -> None:
    """Look, and sweep, as waiters and hooks do."""
    while True:
        store.has_waiting()
        for one in CHANCE.sample(ids, 5):
            assert store.find(one) is not None, one
        store.sweep()
        time.sleep(0.05)


def spans(log: Path, killed_ns: int | None) -> Iterator[tuple[int, int, int]]:
    """What one claimer held; what it still held when it was killed, until then."""
    # One that was killed before it began has no log.
    data = log.read_bytes() if log.exists() else b""
    ends: dict[tuple[int, int], int] = {}
    for place in range(0, len(data) - len(data) % _LINE.size, _LINE.size):
        number, began, until = _LINE.unpack_from(data, place)
        ends[number, began] = until
    for (number, began), until in ends.items():
        if until or killed_ns:
            yield number, began, until or killed_ns or 0


def overlaps(found: list[tuple[int, int, int]]) -> list[str]:
    by_request = defaultdict(list)
    for number, began, until in found:
        by_request[number].append((began, until))
    trouble = []
    for number, held in by_request.items():
        held.sort()
        for (_, until), (began, _) in itertools.pairwise(held):
            if began < until:
                trouble.append(f"{number}: {began} < {until}")
    return trouble


def count_claims(logs: list[Path]) -> int:
    """About: each claim writes two lines."""
    return sum(log.stat().st_size for log in logs if log.exists()) // (2 * _LINE.size)


def test_no_request_ever_has_two_live_claims(store):
    asked = [
        request(new_request_id(number), prompt=str(number), max_attempts=100)
        for number in range(REQUESTS)
    ]
    for one in asked:
        store.submit(one)
    ids = [RequestId(one.request_id) for one in asked]
    folder = store.place.guard.parent
    logs: list[Path] = []
    running: dict[int, Path] = {}
    dead: dict[Path, int] = {}
    pollers = [fork(lambda: poll(store, ids)) for _ in range(2)]
    last_kill = time.monotonic()

    while count_claims(logs) < CLAIMS or len(dead) < CLAIMERS:
        while len(running) < CLAIMERS:
            log = folder / f"log-{len(logs)}"
            logs.append(log)
            running[fork(lambda log=log: claim_and_give_back(store, log))] = log
        time.sleep(0.1)
        if time.monotonic() - last_kill > 0.5:
            last_kill = time.monotonic()
            pid = CHANCE.choice(list(running))
            dead[running.pop(pid)] = kill(pid)
    for poller in pollers:
        os.kill(poller, signal.SIGKILL)
        assert os.waitpid(poller, 0)[1] == signal.SIGKILL, "a poller failed"
    for pid, log in running.items():
        dead[log] = kill(pid)

    found = [span for log in logs for span in spans(log, dead.get(log))]
    assert overlaps(found) == []
    check_all_are_there(store, ids)
    claims = count_claims(logs)
    tell(f"{claims} claims by {len(logs)} claimers, {len(dead)} killed")


def kill(pid: int) -> int:
    """When it was certainly still there."""
    alive_ns = time.monotonic_ns()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return alive_ns


def check_all_are_there(store: Store, ids: list[RequestId]) -> None:
    store.sweep(everything=True)
    while mine := store.claim(claimant(), 10_000, lambda _: "take"):
        for one in mine:
            assert store.publish(answer(one), source="test")
    for one in ids:
        found = store.find(one)
        assert found.response is not None
        assert folders_of(store, one) == ["done"]


def test_every_accepted_request_is_answered_once(store):  # noqa: C901
    """Submitters say what was accepted; an answer says whose it is."""
    folder = store.place.guard.parent

    def submitter(log):
        with log.open("ab", buffering=0) as told:
            while True:
                made = request(new_request_id(time.time_ns() // 1000))
                store.submit(made)
                told.write(made.request_id.encode() + b"\n")

    def worker(log):
        me = this_process()
        with log.open("ab", buffering=0) as told:
            while True:
                for one in store.claim(claimant(me), 4, lambda _: "take"):
                    end = answer(one, f"by {os.getpid()}")
                    if store.publish(end, source="storm"):
                        told.write(f"{one.request_id} by {os.getpid()}\n".encode())
                store.sweep()

    kinds = {"submit": submitter, "work": worker}
    running: dict[int, str] = {}
    logs: dict[str, list[Path]] = {kind: [] for kind in kinds}
    killed = 0
    while killed < KILLS or not any(map(whole_lines, logs["work"])):
        counts = Counter(running.values())
        for kind, act in kinds.items():
            while counts[kind] < 2:
                log = folder / f"{kind}-{len(logs[kind])}"
                logs[kind].append(log)
                running[fork(lambda act=act, log=log: act(log))] = kind
                counts[kind] += 1
        time.sleep(CHANCE.uniform(0.01, 0.1))
        pid = CHANCE.choice(list(running))
        del running[pid]
        kill(pid)
        killed += 1
    for pid in running:
        kill(pid)

    accepted = {line for log in logs["submit"] for line in whole_lines(log)}
    won = [line.split(" ", 1) for log in logs["work"] for line in whole_lines(log)]
    with contextlib.suppress(BridgeError):
        store.sweep(everything=True)
    check_all_are_there(store, [RequestId(one) for one in sorted(accepted)])
    assert max(Counter(one for one, _ in won).values()) == 1
    for request_id, author in won:
        found = store.find(RequestId(request_id))
        assert found.response.parsed_output["summary"] == author
    tell(f"{len(accepted)} requests, {len(won)} answers, {killed} kills")


def whole_lines(log: Path) -> list[str]:
    return [
        line.decode().strip()
        for line in (log.read_bytes() if log.exists() else b"").splitlines(
            keepends=True
        )
        if line.endswith(b"\n")
    ]
