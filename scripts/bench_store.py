"""Measure the store beside what it is made of: files, inotify, a bare python.

scripts/bench_store.py            everything, as a table
scripts/bench_store.py exchange   one part: exchange, claim, wake, memory, many
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.protocol.ids import new_request_id
from bridge.protocol.request import Request
from bridge.protocol.response import answered
from bridge.store import Claimant
from bridge.store.host_process import identify
from bridge.store.location import Place
from bridge.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 200
SLOTS = 4


def main() -> None:
    """Print one table row for each measurement."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="?", choices=sorted(PARTS), help="only this part")
    parser.add_argument(
        "--folder", type=Path, help="where to measure (default: TMPDIR)"
    )
    chosen = parser.parse_args()
    print(f"{'what':30} {'floor':>10} {'ours':>10} {'p99':>10} {'ratio':>6}  goal")
    for name, part in PARTS.items():
        if chosen.part in (None, name):
            with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
                part(Path(folder))


def show(what: str, floor: float, ours: list[float], unit: str, goal: str) -> None:
    """Print a row; `floor` and `ours` are in `unit`."""
    median, p99 = statistics.median(ours), sorted(ours)[int(len(ours) * 0.99)]
    ratio = median / floor if floor else 0
    print(
        f"{what:30} {floor:7.2f} {unit} {median:7.2f} {unit} {p99:7.2f} {unit} "
        f"{ratio:6.2f}  {goal}",
        flush=True,
    )


def store_in(folder: Path) -> Store:
    """A store as deep in the file system as that of a project."""
    home = folder / "home"
    state = home / "state" / "home" / "user" / "app" / "@"
    return Store(Place(folder, state, home, "bench"))


def request(now_us: int) -> Request:
    """A request of ordinary size."""
    return Request(
        request_id=new_request_id(now_us),
        prompt="Which modules lack tests? " * 20,
        created_at=now_us // 1000,
    )


def claimant() -> Claimant:
    """This process as a host."""
    me = identify(os.getpid())
    assert me is not None
    return Claimant("bench", me)


def timed(action: Callable[[], object]) -> float:
    """How long a call takes, in milliseconds."""
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def exchange(folder: Path) -> None:
    """Submit, claim, publish and wait, beside three atomic and durable writes."""
    store, me = store_in(folder), claimant()
    plain = folder / "plain"
    plain.mkdir()

    def floor() -> None:
        for part in range(3):
            write_durably(plain, f"{time.perf_counter_ns()}-{part}", b"x" * 800)

    def ours() -> None:
        asked = request(time.time_ns() // 1000)
        submitted = store.submit(asked)
        (mine,) = store.claim(me, SLOTS, lambda _: "take")
        end = answered(mine, raw="{}", parsed={}, now_ms=store.now_ms(), route="host")
        store.publish(end, source="bench")
        assert len(list(store.wait([submitted.request_id], timeout_s=1))) == 1

    floors, times = [], []
    for _ in range(ROUNDS):
        floors.append(timed(floor))
        times.append(timed(ours))
    show(
        "submit+claim+publish+wait", statistics.median(floors), times, "ms", "<= 1.5 x"
    )


def write_durably(folder: Path, name: str, data: bytes) -> None:
    """The floor of one transition: temporary, fsync, rename, fsync of the folder."""
    temporary = folder / f".{name}.tmp"
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(folder / name)
    fd = os.open(folder, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def claim(folder: Path) -> None:
    """Claim 4 of 10,000 waiting requests, beside 4 of 10."""
    few, many = store_in(folder / "few"), store_in(folder / "many")
    fill(few, 10)
    fill(many, 10_000 + 4 * ROUNDS)
    floors, times, fresh = [], [], []
    for number in range(ROUNDS):
        floors.append(claim_four(few))
        fill(few, 4)
        times.append(claim_four(many))
        if number % 4 == 0:
            many.submit(request(time.time_ns() // 1000))
            fresh.append(claim_four(many))
    floor = statistics.median(floors)
    show("claim 4 of 10,000", floor, times, "ms", "<= 2 x 4 of 10")
    show("  the first after a submit", floor, fresh, "ms", "<= 2 x 4 of 10")


def fill(store: Store, count: int) -> None:
    """Put requests into the queue, as another program would."""
    with store.state() as state, state["requests"] as queue:
        base_us = time.time_ns() // 1000
        for number in range(count):
            asked = request(base_us + number)
            path = Path(queue.path, f"{asked.request_id}.json")
            path.write_bytes(asked.to_json())


def claim_four(store: Store) -> float:
    """Claim four requests, then end them; the time of the claim alone, in ms."""
    me = claimant()
    taken: list[Request] = []
    time_ms = timed(lambda: taken.extend(store.claim(me, SLOTS, lambda _: "take")))
    assert len(taken) == SLOTS
    for mine in taken:
        end = answered(mine, raw="{}", parsed={}, now_ms=store.now_ms(), route="host")
        store.publish(end, source="bench")
    return time_ms


def many(folder: Path) -> None:
    """Each operation with 100,000 waiting requests, beside the same with 1,000."""
    floors, times = (
        acts_among(store_in(folder / str(count)), count) for count in (1_000, 100_000)
    )
    for what, floor in floors.items():
        show(f"{what}, 100,000 waiting", floor, [times[what]], "ms", "<= 100 x 1,000")
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{'  the most memory':30} {'':10} {peak_mib:7.0f} MiB")


def acts_among(store: Store, count: int) -> dict[str, float]:
    """The time of one call of each, in ms."""
    fill(store, count)
    acts: dict[str, Callable[[], object]] = {
        "submit": lambda: store.submit(request(time.time_ns() // 1000)),
        "has_waiting": store.has_waiting,
        "claim 4": lambda: claim_four(store),
        "sweep": lambda: store.sweep(everything=True),
        "waiting": store.waiting,
    }
    return {what: timed(act) for what, act in acts.items()}


def wake(folder: Path) -> None:
    """From the response on disk to the end of the wait, beside bare inotify."""
    store = store_in(folder)
    ours, theirs = multiprocessing.Pipe()
    publisher = multiprocessing.Process(target=publish_on_demand, args=(store, theirs))
    publisher.start()
    floors, times = [], []
    for _ in range(ROUNDS):
        floors.append(bare_wake(store, ours))
        request_id = store.submit(request(time.time_ns() // 1000)).request_id
        ours.send("publish")
        list(store.wait([request_id], timeout_s=10))
        awake = time.perf_counter_ns()
        times.append((awake - ours.recv()) / 1e6)
    ours.send("stop")
    publisher.join()
    floor = statistics.median(floors)
    show("response on disk -> awake", floor, times, "ms", "median <= 5, p99 <= 25 ms")


def publish_on_demand(
    store: Store, pipe: multiprocessing.connection.Connection
) -> None:
    """Link a bare file, or answer a request, and print when the link was made."""
    me = claimant()
    linked = []
    link = os.link

    def stamped_link(*args: object, **kwargs: object) -> None:
        linked.append(time.perf_counter_ns())
        link(*args, **kwargs)  # type: ignore[arg-type]

    os.link = stamped_link  # type: ignore[assignment]
    bare = store.place.project / "bare"
    bare.touch()
    while (wanted := pipe.recv()) != "stop":
        time.sleep(0.03)
        if wanted == "link":
            stamped_link(bare, store.place.project / f"bare-{time.perf_counter_ns()}")
        else:
            (mine,) = store.claim(me, SLOTS, lambda _: "take")
            now_ms = store.now_ms()
            end = answered(mine, raw="{}", parsed={}, now_ms=now_ms, route="host")
            store.publish(end, source="bench")
        pipe.send(linked[-1])


def bare_wake(store: Store, publisher: multiprocessing.connection.Connection) -> float:
    """The time from a link to the return of a blocked read of inotify, in ms."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_CLOEXEC)
    in_create = 0x100
    folder = os.fsencode(store.place.project)
    assert libc.inotify_add_watch(fd, folder, in_create) >= 0
    publisher.send("link")
    os.read(fd, 4096)
    awake = time.perf_counter_ns()
    os.close(fd)
    return max(0.0, (awake - publisher.recv()) / 1e6)


def memory(folder: Path) -> None:
    """Resident memory of a waiting process, beside a python that sleeps."""
    waiter = (
        "import sys; from pathlib import Path;"
        "from bridge.store.store import Store;"
        "from bridge.store.location import Place; home = Path(sys.argv[1]);"
        "store = Store(Place(home, home / 'state' / '@', home, ''));"
        "list(store.wait(['nobody-answers'], timeout_s=60))"
    )
    floor = resident_mib("import time; time.sleep(60)", folder)
    ours = resident_mib(waiter, folder)
    show("memory of a waiting process", floor, [ours], "MB", "<= + 50 MB")


def resident_mib(code: str, folder: Path) -> float:
    """Resident memory of a python that runs `code`, once it no longer changes."""
    child = subprocess.Popen([sys.executable, "-c", code, str(folder / "home")])
    time.sleep(2)
    status = Path(f"/proc/{child.pid}/status").read_text()
    child.kill()
    child.wait()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


PARTS: dict[str, Callable[[Path], None]] = {
    "exchange": exchange,
    "claim": claim,
    "many": many,
    "wake": wake,
    "memory": memory,
}

if __name__ == "__main__":
    main()
