"""Measure `hostbridge submit` and `status` as processes, beside a floor.

The floor is `python3 -I -S` that imports json: Python itself, and nothing of ours. A
session is open, so `submit` also wakes it.

    scripts/bench_cli.py             under a minute
    scripts/bench_cli.py --quick     a smoke test: few rounds, few files
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.script import exit_code, option_parser, scratch
from bench.table import Row, show
from bench.timing import run, take_turns
from bench.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.timing import Series

GOAL = 4.0
FLOOR = ["-I", "-S", "-c", "import json"]


def main() -> int:
    """Run the benchmark; the exit code is 1 if a goal is missed."""
    parser = option_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="processes each (40)")
    parser.add_argument("--files", type=int, default=10_000, help="requests (10,000)")
    chosen = parser.parse_args()
    rounds, files = (2, 50) if chosen.quick else (chosen.rounds, chosen.files)
    with scratch() as folder:
        found = take_turns(cases(folder, files), rounds)
    rows = compare(found, files)
    show(f"commands as processes, {rounds} runs each", rows)
    return exit_code(rows, quick=chosen.quick)


def cases(root: Path, files: int) -> list[Callable[[], dict[str, float]]]:
    """Everything that is measured, each case in its own world."""
    idle, finished, waiting = (World(root, n) for n in ("idle", "finished", "waiting"))
    finished.finish_requests(files)
    for number in range(files):
        waiting.drop_request(f"0000000{number:04}-n-aaaaaa")

    def floor() -> dict[str, float]:
        return {"floor": run([sys.executable, *FLOOR], environment(idle)).ms}

    def submit(world: World, name: str) -> Callable[[], dict[str, float]]:
        words = ["submit", "Explore", "Which modules lack tests?"]
        return lambda: {name: timed(world, words, "-n-")}

    def status(
        world: World, name: str, expected: str
    ) -> Callable[[], dict[str, float]]:
        return lambda: {name: timed(world, ["status"], expected)}

    return [
        floor,
        submit(idle, "submit"),
        submit(finished, "submit, finished"),
        status(idle, "status", "SESSION"),
        status(finished, "status, finished", f"{files:,} ended in all"),
        status(waiting, "status, waiting", f"{files:,} in all"),
        lambda: {"help": timed(idle, ["--help"], "submit")},
    ]


def timed(world: World, words: list[str], expected: str) -> float:
    """The time of one command, in milliseconds; its output is checked."""
    command = [sys.executable, "-c", start(world), *words]
    ran = run(command, environment(world))
    assert ran.exit_code == 0, ran
    assert expected in ran.stdout.decode(), ran
    return ran.ms


def start(world: World) -> str:
    """The code of the console script, in the world's project."""
    folder = json.dumps(str(world.project))
    return f"import os; os.chdir({folder}); from bridge.cli.main import main; main()"


def environment(world: World) -> dict[str, str]:
    """The environment of a shell outside any session."""
    return {k: v for k, v in world.environment.items() if not k.startswith("CLAUDE")}


def compare(found: dict[str, Series], files: int) -> list[Row]:
    """The rows of the table."""
    floor = found["floor"]
    many = f"{files:,}"
    return [
        Row("hostbridge submit", found["submit"], floor, GOAL),
        Row(f"  {many} finished requests", found["submit, finished"], floor, GOAL),
        Row("hostbridge status", found["status"], floor, GOAL),
        Row(f"  {many} finished requests", found["status, finished"], floor, GOAL),
        Row(f"  {many} waiting", found["status, waiting"], floor, GOAL),
        Row("hostbridge --help", found["help"], floor),
    ]


if __name__ == "__main__":
    sys.exit(main())
