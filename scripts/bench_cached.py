"""Measure `hostbridge ask --cached` beside `hostbridge show` of the same answer.

The answers rest on no file, on a thousand that a search has read, and on two, four,
eight and sixteen thousand; nothing has changed, so nobody is asked. `stale` and the
check of a lock are beside it. That it is linear is told by the time of processors,
which others on the machine disturb least: what a thousand files take beside none.

    scripts/bench_cached.py             about two minutes
    scripts/bench_cached.py --quick     a smoke test: few rounds, few files
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.script import exit_code, option_parser, scratch
from bench.table import Row, show
from bench.timing import Series, run, take_turns
from bench.world import World
from bench_cli import environment, start

from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.freshness import kept_reads
from bridge.freshness.looks import Look
from bridge.freshness.memory_files import of_client
from bridge.protocol.judge import judge
from bridge.protocol.response import answered
from bridge.store import Claimant
from bridge.store.sessions import live_sessions, note_model

if TYPE_CHECKING:
    from collections.abc import Callable

GOAL = 1.3
# How many times as many files, and how much more each may cost where they are the most.
TIMES = (2, 4, 8, 16)
LINEAR = 1.3
MODEL = "claude-opus-5-5"
ANSWER = '{"status": "success", "summary": "two of them", "evidence": []}'
ASKED = "Which modules lack tests? ({} files)"
# Of the kernel's clock of files.
TICK_S = 0.1


def main() -> int:
    """Run the benchmark; the exit code is 1 if a goal is missed."""
    parser = option_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="processes each (40)")
    parser.add_argument("--files", type=int, default=1_000, help="in a set (1,000)")
    chosen = parser.parse_args()
    rounds, files = (2, 20) if chosen.quick else (chosen.rounds, chosen.files)
    with scratch() as folder:
        found = take_turns(cases(folder, files), rounds)
    rows = compare(found, files)
    show(f"an earlier answer, {rounds} processes each", rows)
    by_size = per_thousand(found, files)
    show("processors' time for each 1,000 files, beside none", by_size)
    return exit_code([*rows, *by_size], quick=chosen.quick)


def cases(root: Path, files: int) -> list[Callable[[], dict[str, float]]]:
    """Everything that is measured: each size in a folder of its own."""
    world = World(root, "cached")
    home = world.home / ".hostbridge"
    bridge = Bridge(Settings(home=home, claude_dir=world.home), world.project)
    sizes = {"none": 0, "some": files}
    sizes |= {f"{times} times": times * files for times in TIMES}
    ids = {}
    for name, count in sizes.items():
        folder = world.project / name
        folder.mkdir()
        for number in range(count):
            (folder / f"{number}.py").write_text(f"the file {number}\n" * 20)
    time.sleep(TICK_S)
    for name in sizes:
        ids[name] = answer(bridge, name)
    lock = world.project / "answers.lock"
    bridge.write_lock(lock, [ids["some"]])

    def command(name: str, *words: str, says: str) -> Callable[[], dict[str, float]]:
        full = [sys.executable, "-c", start(world), *words]

        def measure() -> dict[str, float]:
            ran = run(full, environment(world))
            assert ran.exit_code == 0, ran
            assert says in ran.stdout.decode(), ran
            return {name: ran.ms, f"{name}, cpu": ran.cpu_ms}

        return measure

    asks = [
        command(f"ask {n}", "ask", ASKED.format(n), "--cached", "--json", says=ids[n])
        for n in sizes
    ]
    shown = ("none", "some", f"{TIMES[-1]} times")
    shows = [command(f"show {n}", "show", ids[n], says=ids[n]) for n in shown]
    return [
        *asks,
        *shows,
        command("stale", "stale", ids["some"], says="1 fresh"),
        command("lock", "stale", "--lock", str(lock), says="1 fresh"),
    ]


def answer(bridge: Bridge, name: str) -> str:
    """Have a question answered by an agent that searched one folder."""
    store = bridge.store
    asked = bridge.submit(ASKED.format(name))
    (session,) = live_sessions(store)
    note_model(store, session, MODEL)
    claimant = Claimant(session.session_id, session.host)
    (request,) = store.claim(claimant, 4, lambda _: "take", only=asked)
    verdict = judge(request, ANSWER, calls=(), now_ms=store.now_ms())
    response = answered(
        request, raw=ANSWER, parsed=verdict.parsed, now_ms=store.now_ms(), route="host"
    )
    project = store.place.project
    look = Look("contents", f"{project}/{name}", "*.py", store.now_ms())
    claude_dir = str(bridge.settings.claude_dir)
    looks = [look, *of_client(str(project), claude_dir, (), store.now_ms())]
    how = {"project": project, "model": MODEL, "read_s": 60}
    with store.state() as state:
        kept_reads.keep(state, request, response, looks, **how)
    assert store.publish(response, source="bench")
    (standing,) = bridge.stale([asked])
    assert standing.state == "fresh", standing
    return asked


def compare(found: dict[str, Series], files: int) -> list[Row]:
    """The rows of the table."""
    most = TIMES[-1]
    asked, shown = f"ask {most} times", f"show {most} times"
    cpu = found["ask some, cpu"], found["show some, cpu"]
    return [
        Row("ask --cached, no file", found["ask none"], found["show none"], GOAL),
        Row(f"  {files:,} files", found["ask some"], found["show some"], GOAL),
        Row("  the same, on processors", *cpu, GOAL),
        Row(f"  {most * files:,} files", found[asked], found[shown]),
        Row(f"stale, {files:,} files", found["stale"], found["show some"]),
        Row(f"stale --lock, {files:,} files", found["lock"], found["show some"]),
        Row("floor: hostbridge show", found["show some"]),
    ]


def per_thousand(found: dict[str, Series], files: int) -> list[Row]:
    """What a thousand files cost in sets of each size, in medians of rounds."""

    def cost(name: str, count: int) -> Series:
        pairs = zip(
            found[f"ask {name}, cpu"].values,
            found["ask none, cpu"].values,
            strict=True,
        )
        return Series([(one - none) * 1000 / count for one, none in pairs])

    first = cost(f"{TIMES[0]} times", TIMES[0] * files)
    rows = [Row(f"{files:,} files", cost("some", files), first)]
    for times in TIMES:
        now = cost(f"{times} times", times * files)
        goal = LINEAR if times == TIMES[-1] else None
        rows.append(Row(f"{times * files:,} files", now, first, goal))
    return rows


if __name__ == "__main__":
    sys.exit(main())
