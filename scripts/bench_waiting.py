"""Measure many waits in one process: time past the deadline, CPU, open files.

scripts/bench_waiting.py                     1, 300 and 1000 threads, 10 s each
scripts/bench_waiting.py --asyncio 1 300     tasks instead, and these numbers
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import tempfile
import threading
import time
from pathlib import Path

from bridge.api.aio import AsyncBridge
from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.errors import WaitTimeout

TIMEOUT_S = 10.0


def main() -> None:
    """Print a line for each number of waiters."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("numbers", nargs="*", type=int, default=[1, 300, 1000])
    parser.add_argument("--asyncio", action="store_true", help="tasks, not threads")
    chosen = parser.parse_args()
    for number in chosen.numbers:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), number, is_asyncio=chosen.asyncio)


def measure(folder: Path, number: int, *, is_asyncio: bool) -> None:
    """Wait for this many requests, which nobody answers."""
    (folder / "app/.git").mkdir(parents=True)
    bridge = Bridge(Settings(home=folder / "home"), folder / "app")
    ids = [bridge.submit("q", timeout_s=600) for _ in range(number)]
    seen: list[str] = []
    timer = threading.Timer(
        TIMEOUT_S / 2, lambda: seen.extend(os.listdir("/proc/self/fd"))
    )
    timer.start()
    began_s, cpu_s = time.monotonic(), time.process_time()
    if is_asyncio:
        asyncio.run(tasks(bridge, ids))
    else:
        threads(bridge, ids)
    late_s = time.monotonic() - began_s - TIMEOUT_S
    cpu_s = time.process_time() - cpu_s
    timer.join()
    print(
        f"{number:>5} waiters: {late_s:.2f} s past the deadline, {cpu_s:.2f} s of CPU, "
        f"{len(seen)} open files"
    )


def threads(bridge: Bridge, ids: list[str]) -> None:
    """Wait in one thread for each request."""

    def one(request_id: str) -> None:
        with contextlib.suppress(WaitTimeout):
            bridge.wait(request_id, timeout_s=TIMEOUT_S)

    started = [threading.Thread(target=one, args=(each,)) for each in ids]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


async def tasks(bridge: Bridge, ids: list[str]) -> None:
    """Wait in one task for each request."""
    waits = (AsyncBridge(bridge).wait(each, timeout_s=TIMEOUT_S) for each in ids)
    await asyncio.gather(*waits, return_exceptions=True)


if __name__ == "__main__":
    main()
