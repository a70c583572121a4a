"""Measure the queue of many machines beside one machine, RQ and Dramatiq.

scripts/bench_remote.py                    everything; the peers in their own venv
scripts/bench_remote.py take memory        some parts: exchange, take, memory, many
scripts/bench_remote.py many --number 500  so many requests, by default 2000

Starts a redis-server of its own (appendfsync always). `many` has 20 workers; ours keep
durable files on both ends, the peers acknowledge after the work and keep none.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.config import Settings
from bridge.protocol.ids import new_request_id
from bridge.protocol.outcome import Outcome
from bridge.protocol.request import Request
from bridge.remote.forward import Forward, open_queue
from bridge.remote.here import Here, Terms
from bridge.remote.keys import Needs, read_address
from bridge.remote.queue import Queue
from bridge.remote.take import Taker
from bridge.store.location import Place
from bridge.store.store import Store
from bridge.worker.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.protocol.ids import RequestId

ROUNDS, WORKERS, ASKERS, THREADS = 100, 20, 4, 8
PAYLOAD = "x" * 2000
ANSWER = '{"status": "success", "summary": "fine"}'
PEERS = ("rq", "dramatiq[redis]")
RQ = """
import sys, time
from redis import Redis
from rq import Queue, SimpleWorker
sys.path.insert(0, {folder!r})
from peer_work import fine
connection = Redis(port={port})
queue = Queue(connection=connection)
"""
DRAMATIQ = """
import dramatiq, time
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend
broker = RedisBroker(port={port})
broker.add_middleware(Results(backend=RedisBackend(port={port})))
dramatiq.set_broker(broker)
@dramatiq.actor(store_results=True)
def fine(payload):
    return {answer!r}
"""


class Instant:
    """An executor that answers at once."""

    def answer(self, *_: object) -> Outcome:
        """Say that all is fine."""
        return Outcome(ANSWER)


class Machine:
    """A state directory, and a worker in it."""

    def __init__(self, folder: Path, url: str) -> None:
        project, home = folder / "project", folder / "home"
        project.mkdir(parents=True, exist_ok=True)
        home.mkdir(mode=0o700, exist_ok=True)
        state = home / "state" / str(project)[1:] / "@"
        self.store = Store(Place(project, state, home, "a benchmark"), lock_wait_s=60)
        self.settings = Settings(home=home, queue=url)

    def worker(self, route: Any, executor: Any) -> Worker:
        """A worker of one route."""
        return Worker(
            self.store, route, executor, define=lambda r: (r, None), max_depth=2
        )

    def submit(self, route: Any) -> RequestId:
        """A request that waits."""
        name = new_request_id(time.time_ns() // 1000)
        made = Request(
            request_id=name, prompt=PAYLOAD, route=route, timeout=600_000,
            created_at=self.store.now_ms(),
        )  # fmt: skip
        return self.store.submit(made).request_id

    def take(self) -> None:
        """Serve the queue until the process is ended."""
        queue = open_queue(self.settings)
        terms = Terms(("claude",))
        here = Here(self.store, self.settings, terms, queue.address)
        worker = self.worker("claude", Instant())
        serves = {"claude": lambda name, _stage: worker.see_through(name)}
        taker = Taker(
            queue, self.store, self.settings, here, [serves],
            lambda *_: None, lambda *_: None,
        )  # fmt: skip
        taker.run()


def main() -> None:
    """Run the parts that are named, or all of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="only these")
    parser.add_argument("--number", type=int, default=2000)
    chosen = parser.parse_args()
    for name in chosen.parts or PARTS:
        with (
            tempfile.TemporaryDirectory() as folder,
            redis_server(Path(folder)) as port,
        ):
            PARTS[name](Path(folder), port, chosen.number)


@contextmanager
def redis_server(folder: Path) -> Iterator[int]:
    """A server that writes each change to the disk before it answers."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    options = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "yes")
    process = subprocess.Popen(
        ["redis-server", "--port", str(port), "--dir", str(folder), *options,
         "--appendfsync", "always"], stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        queue = Queue(read_address(url_of(port)), None)
        while True:
            with suppress(Exception):
                queue.check()
                break
            time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()


def url_of(port: int) -> str:
    """The queue at a port."""
    return f"redis://127.0.0.1:{port}/0?name=bench"


def exchange(folder: Path, port: int, _number: int) -> None:
    """The same exchange on one machine, and from one to another."""
    alone, asker = (Machine(folder / name, url_of(port)) for name in ("one", "two"))
    server = start(Machine(folder / "three", url_of(port)).take)
    forward = Forward(open_queue(asker.settings), asker.store, asker.settings)
    ways = {
        "alone": (alone, "claude", alone.worker("claude", Instant())),
        "remote": (asker, "remote", asker.worker("remote", forward)),
    }
    took_ms: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(ROUNDS + 5):
        for name, (machine, route, worker) in ways.items():
            began_s = time.perf_counter()
            worker.serve(machine.submit(route))
            if number >= 5:  # noqa: PLR2004 - the first ones load modules
                took_ms[name].append((time.perf_counter() - began_s) * 1000)
    server.kill()
    for name, each in took_ms.items():
        p99 = sorted(each)[int(len(each) * 0.99)]
        print(
            f"exchange {name}: {statistics.median(each):.1f} ms median, {p99:.1f} p99"
        )


def take(_folder: Path, port: int, _number: int) -> None:
    """A take and its answer, with few and with many that wait."""
    queue = Queue(read_address(url_of(port)), None)
    needs, count = Needs(agent="a"), 0
    queue.client.config_set("appendfsync", "no")
    for many in (100, 100_000):
        while count < many:
            put(queue, needs, count)
            count += 1
        took_ms = []
        for _ in range(ROUNDS):
            began_s = time.perf_counter()
            taken = queue.take("x.y", "x", [needs.kind], lease_s=30)
            took_ms.append((time.perf_counter() - began_s) * 1000)
            queue.hand_back(taken, needs)  # type: ignore[arg-type]
        print(f"take with {many:,} waiting: {statistics.median(took_ms):.2f} ms")


def put(queue: Queue, needs: Needs, number: int) -> None:
    """One more that waits, at one of three levels."""
    queue.put(
        f"{'a' * 16}.r{number}.0", PAYLOAD.encode(), needs,
        level=("high", "normal", "low")[number % 3], left_ms=3_600_000, tries=2,
        to="x.y", machine="x",
    )  # fmt: skip


def memory(_folder: Path, port: int, _number: int) -> None:
    """What Redis takes for what waits, beside the payload."""
    queue = Queue(read_address(url_of(port)), None)
    queue.client.config_set("appendfsync", "no")
    before: Any = queue.client.info("memory")
    for number in range(100_000):
        put(queue, Needs(agent="a"), number)
    after: Any = queue.client.info("memory")
    used = after["used_memory_dataset"] - before["used_memory_dataset"]
    used = max(used, after["used_memory"] - before["used_memory"])
    ratio = used / (100_000 * len(PAYLOAD))
    print(f"memory of 100,000 waiting: {used / 2**20:.0f} MiB, {ratio:.2f} x payload")


def start(act: Any) -> Any:
    """Have something done in a process of its own."""
    process = multiprocessing.get_context("fork").Process(target=act, daemon=True)
    process.start()
    return process


def many(folder: Path, port: int, number: int) -> None:
    """How many are answered in a second by 20 workers: ours, RQ's, Dramatiq's."""
    asker = Machine(folder / "asker", url_of(port))
    workers = [
        start(Machine(folder / f"w{n}", url_of(port)).take) for n in range(WORKERS)
    ]
    time.sleep(5)
    began_s = time.perf_counter()
    askers = [
        start(lambda: ask(asker, number // ASKERS // THREADS)) for _ in range(ASKERS)
    ]
    for each in askers:
        each.join()
    took_s = time.perf_counter() - began_s
    for each in workers:
        each.kill()
    done = len([*(asker.store.place.state / "responses").glob("*.json")])
    print(f"ours: {done} answers, {done / took_s:.0f}/s, durable files on both ends")
    peers(folder, port, number)


def ask(machine: Machine, number: int) -> None:
    """Ask in several threads at once."""

    def loop() -> None:
        queue = open_queue(machine.settings)
        forward = Forward(queue, machine.store, machine.settings)
        worker = machine.worker("remote", forward)
        for _ in range(number):
            worker.serve(machine.submit("remote"))

    threads = [threading.Thread(target=loop) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def peers(folder: Path, port: int, number: int) -> None:
    """The same number by RQ and Dramatiq, on the same server."""
    python = folder / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", *PEERS], check=True)
    (folder / "peer_work.py").write_text(f"def fine(payload): return {ANSWER!r}\n")
    (folder / "peer.py").write_text(DRAMATIQ.format(port=port, answer=ANSWER))
    rq = RQ.format(folder=str(folder), port=port)
    ask_rq = (
        f"{rq}\nbegan = time.time()\n"
        f"jobs = [queue.enqueue(fine, {PAYLOAD!r}) for _ in range({number})]\n"
        "while any(not j.get_status(refresh=True) == 'finished' for j in jobs[-50:]) "
        "or queue.count: time.sleep(0.02)\nprint(len(jobs) / (time.time() - began))"
    )
    work_rq = f"{rq}\nSimpleWorker([queue], connection=connection).work()"
    ask_dramatiq = (
        "import time, peer\nbegan = time.time()\n"
        f"sent = [peer.fine.send({PAYLOAD!r}) for _ in range({number})]\n"
        "[each.get_result(block=True, timeout=600_000) for each in sent]\n"
        "print(len(sent) / (time.time() - began))"
    )
    dramatiq = [python, "-m", "dramatiq", "peer", "-p", str(WORKERS), "-t", "1"]
    runs = {
        "RQ": ([[python, "-c", work_rq]] * WORKERS, ask_rq),
        "Dramatiq": ([dramatiq], ask_dramatiq),
    }
    for name, (works, asks) in runs.items():
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        running = [
            subprocess.Popen(each, cwd=folder, start_new_session=True, **quiet)  # type: ignore[call-overload]
            for each in works
        ]
        time.sleep(8)
        words = [python, "-c", asks]
        said = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, check=False
        )
        for each in running:
            with suppress(ProcessLookupError):
                os.killpg(each.pid, 9)
            each.wait()
        rate = said.stdout.strip() or said.stderr.strip()[-300:]
        print(f"{name}: {rate.partition('.')[0]}/s")
    shutil.rmtree(folder / "venv")


PARTS = {"exchange": exchange, "take": take, "memory": memory, "many": many}

if __name__ == "__main__":
    main()
