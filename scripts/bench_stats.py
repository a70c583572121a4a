"""Metrics of 100,000 events against reading and parsing the journal.

Both in this process, in turns, by its processor time. The floor reads the files of the
journal, which is rotated as on disk, and has orjson decode each line. We open the state
and make the metrics of all of it, and then their JSON, too. Of a hundred requests in
that journal 100 end, 10 are told of later, and the rest is what happens in between, to
flows and to tasks.

    scripts/bench_stats.py             about half a minute
    scripts/bench_stats.py --quick     a smoke test
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from bench.script import exit_code, rounds_of, scratch
from bench.table import Row, show
from bench.timing import take_turns, timed

from bridge.config import Settings
from bridge.metrics.reader import read
from bridge.store import journal
from bridge.store.location import locate, open_state
from bridge.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EVENTS = 100_000
DAYS = 7
# A library for typed records would reach half as much; for a tenth of a second in two
# commands it is one dependency too many.
GOAL = 3.0
AGENTS = ("general-purpose", "Explore", "task-validator", "validator-logic", "reviewer")
MODELS = ("claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-1")
# What else happens to a request, and how often to a hundred of them.
BETWEEN: dict[str, tuple[int, dict[str, Any]]] = {
    "submitted": (100, {"agent": "general-purpose", "by": "make (pid 4242)"}),
    "claimed": (104, {"session": "0e9a2c6e-8a53-4f5c-a6bb-1f2d3c4b5a69", "pid": 4711}),
    "launched": (102, {}),
    "offered again": (6, {}),
    "waiting again": (4, {"attempt": 1}),
    "corrected": (10, {}),
    "evidence": (5, {"source": "SubagentStop", "reason": "no JSON was found in it"}),
    "rule": (10, {"why": "the rule tests-after-edits asks for pytest"}),
}


def main() -> int:
    """Run the benchmark; the exit code is 1 if the goal is missed."""
    rounds, is_quick = rounds_of(__doc__, 21, "of each")
    with scratch() as folder:
        store, files = filled(folder)
        found = take_turns(cases(store, files), rounds)
        size = sum(file.stat().st_size for file in files)
        cells = len(read(store, since_ms=0).cells)
    rows = [
        Row("floor: the journal read and parsed", found["floor"]),
        Row("its metrics", found["metrics"], found["floor"], GOAL),
        Row("the same as JSON", found["json"], found["floor"]),
    ]
    show(f"{EVENTS:,} events, {size / 2**20:.1f} MiB, {cells} cells", rows)
    return exit_code(rows, quick=is_quick)


def cases(store: Store, files: list[Path]) -> list[Callable[[], dict[str, float]]]:
    """Everything that is measured."""

    def floor() -> None:
        for file in files:
            for line in file.read_bytes().splitlines():
                orjson.loads(line)

    def to_json() -> None:
        orjson.dumps(read(store, since_ms=0).to_data())

    return [
        timed("floor", floor, time.process_time),
        timed("metrics", lambda: read(store, since_ms=0), time.process_time),
        timed("json", to_json, time.process_time),
    ]


def filled(folder: Path) -> tuple[Store, list[Path]]:
    """A project with that journal, and its files."""
    store = Store(locate(Settings(home=folder / "home"), folder / "app"))
    begins_ms = store.now_ms() - DAYS * 86_400_000
    step_ms = DAYS * 86_400_000 // (EVENTS + 1)
    with open_state(store.place):
        lines = [
            orjson.dumps({"at": begins_ms + n * step_ms, **event}) + b"\n"
            for n, event in zip(range(EVENTS), events(), strict=False)
        ]
    data = bytearray()
    for n, line in enumerate(lines):
        data += line
        if len(data) > journal.MAX_BYTES:
            name = f"events.{begins_ms + n * step_ms}-00000000.jsonl"
            (store.place.state / name).write_bytes(data)
            data.clear()
    (store.place.state / journal.NAME).write_bytes(data)
    return store, [*store.place.state.glob("events*.jsonl")]


def events() -> Iterator[dict[str, Any]]:
    """Events without their times, as they follow one another."""
    chance = random.Random(1)  # noqa: S311 - no secret
    number = 0
    while True:
        number += 1
        run = f"r{number:015d}"
        for n in range(33):
            yield from of_request(chance, f"1k0t3fvv{number * 33 + n:06d}-n-hj92wn")
        yield {"event": "run begun", "requestId": run, "flow": "review-change"}
        yield {"event": "run completed", "requestId": run, "flow": "review-change",
               "durationMs": 240_000, "agents": 4, "tokens": 5_400}  # fmt: skip
        for event in ("created", "passed", "closed"):
            task = f"#{number}"
            yield {"event": f"task {event}", "requestId": "", "task": task}


def of_request(chance: random.Random, request: str) -> Iterator[dict[str, Any]]:
    """What happens to one request."""
    for event, (often, facts) in BETWEEN.items():
        if chance.random() * 100 < often:
            yield {"event": event, "requestId": request, **facts}
    usage = {name: chance.randrange(20_000) for name in (
        "inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens",
    )}  # fmt: skip
    has_failed = chance.random() < 0.1  # noqa: PLR2004 - one in ten
    outcome = {"code": "no_json"} if has_failed else {"verified": True}
    model = chance.choice(MODELS)
    yield {
        "event": "failed" if has_failed else "completed", "requestId": request,
        "source": "SubagentStop", **outcome, "agent": chance.choice(AGENTS),
        "route": "host", "model": model, "durationMs": chance.randrange(1000, 120_000),
        "waitMs": chance.randrange(100, 9_000), "usage": {**usage, "requests": 3},
    }  # fmt: skip
    if chance.random() < 0.1:  # noqa: PLR2004 - one in ten
        told = {**usage, "requests": 4}
        yield {"event": "usage", "requestId": request, "usage": told, "model": model}


if __name__ == "__main__":
    sys.exit(main())
