"""What rules cost: hooks as processes, with none, ten and a thousand rules.

There is no client and no model: the hooks run as the client runs them, each case in a
session of its own with its own rules file.

    scripts/bench_rules.py             about a minute
    scripts/bench_rules.py --quick     a smoke test
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.floors import FLOORS
from bench.script import exit_code, rounds_of, scratch
from bench.table import Row, show
from bench.timing import run, take_turns
from bench.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.timing import Series

    Figures = dict[str, float]

CONDITIONS = (
    'tool_name == "Bash" and "deploy" in command and not variables.task',
    'tool_name in ["Bash", "Write"] and require_task_before_edit',
    'command.startswith("git push") and "--force" in command',
    'validation_model and ("ruff" in command or "mypy" in command)',
    'runs(command, "pytest", "ruff")',
    'tool_input.file_path.endswith(".lock")',
    "depth > 2 or len(command) > 100000000",
    'matches(command, "docker * push*")',
    "session.title is not None and current_step == 'complete'",
    '"--no-verify" in words(command)',
)
LS, COMMIT = "ls -l", "git commit -m 'run pytest later'"
OTHERS = 'tool_name in ["Edit", "Write"] and not variables.task'
NEVER = 'runs(command, "pytest", "ruff")'
SPAWN = """\
on_before_tool:
  - when: '"pytest" in command'
    spawn_agent: {agent: general-purpose, prompt: "Run {{ command }}"}
"""
LONG = 10 * 1024 * 1024


def main() -> int:
    """Run the benchmark; the exit code is 1 if a goal is missed."""
    rounds, is_quick = rounds_of(__doc__, 60, "processes each")
    with scratch() as folder:
        found = take_turns(cases(folder), rounds)
    rows = compare(found)
    show(f"rules as hooks, {rounds} runs each", rows)
    return exit_code(rows, quick=is_quick)


def cases(root: Path) -> list[Callable[[], Figures]]:
    """Everything that is measured, each case in its own world."""
    none = World(root / "none", "none")
    short = [
        _floor("shell", none),
        _quiet("none", none, LS),
        _quiet("others", _ruled(root, "others", [OTHERS]), LS),
    ]
    ten, many = list(CONDITIONS), list(CONDITIONS) * 100
    return [
        *short * 5,
        _floor("python", none),
        _quiet("ten", _ruled(root, "ten", ten), LS),
        _quiet("thousand", _ruled(root, "thousand", many), LS),
        _quiet("runs", _ruled(root, "runs", [NEVER]), COMMIT),
        _quiet("short", _ruled(root, "short", ten), "x" * 1024),
        _quiet("long", _ruled(root, "long", ten), "x\n" * (LONG // 2)),
        # A file of so many is refused by name, and those before it stay in force.
        _quiet("refused", _ruled(root, "refused", many, many * 10), LS),
        _handover(World(root / "handover", "handover")),
        _claim(World(root / "claim", "claim")),
    ]


def _ruled(root: Path, name: str, *versions: list[str]) -> World:
    """A world with a rule for each condition, in one version after another."""
    world = World(root / name, name)
    for conditions in versions:
        lines = [f"  - {{when: {_quoted(each)}, block: x}}" for each in conditions]
        _with_rules(world, "\n".join(["on_before_tool:", *lines, ""]))
    return world


def _with_rules(world: World, text: str) -> World:
    (world.home / ".hostbridge" / "rules.yaml").write_text(text)
    # The first event after the change compiles them.
    call(world, LS)
    assert (world.state / "rules" / "PreToolUse").exists()
    return world


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def call(world: World, command: str, **fields: Any) -> Any:
    """The hook of a call of Bash."""
    made = {"tool_name": "Bash", "tool_use_id": "toolu_main", **fields}
    return world.hook(
        "tool-start", "PreToolUse", tool_input={"command": command}, **made
    )


def _floor(name: str, world: World) -> Callable[[], Figures]:
    return lambda: {name: run(FLOORS[name], world.environment).ms}


def _quiet(name: str, world: World, command: str) -> Callable[[], Figures]:
    def figures() -> Figures:
        ran = call(world, command)
        assert ran.stdout == b"", ran
        return {name: ran.ms}

    return figures


def _handover(world: World) -> Callable[[], Figures]:
    """A call that a rule hands to an agent."""
    _with_rules(world, SPAWN)
    numbers = count()

    def figures() -> Figures:
        world.start_over()
        # Each for the first time: the same call again would meet the same request.
        ran = call(world, f"pytest -q tests/test_{next(numbers)}.py")
        assert b"bridge:" in ran.stdout, ran
        return {"handover": ran.ms}

    return figures


def _claim(world: World) -> Callable[[], Figures]:
    """The hook that claims what another program asks."""

    def figures() -> Figures:
        world.start_over()
        world.drop_request("r-1")
        ended = {"tool_name": "Bash", "tool_use_id": "t", "tool_response": {}}
        ran = world.hook("tool-end", "PostToolUse", **ended)
        assert b"bridge:r-1" in ran.stdout, ran
        return {"claim": ran.ms}

    return figures


def compare(found: dict[str, Series]) -> list[Row]:
    """The rows of the table."""
    shell, python = found["shell"], found["python"]
    return [
        Row("no rules", found["none"], shell, 1.3),
        Row("rules for other tools only", found["others"], shell, 1.3),
        Row("ten rules that do not match", found["ten"], python, 1.2),
        Row("1,000 rules, beside ten", found["thousand"], found["ten"], 1.5),
        Row("runs(…), no match, substring there", found["runs"], python, 3.0),
        Row("a command of 10 MB, beside 1 kB", found["long"], found["short"], 12.0),
        Row("10,000 rules (refused), beside 1,000", found["refused"],
            found["thousand"], 12.0),
        Row("a call is handed over, beside a claim", found["handover"],
            found["claim"], 1.2),
        Row("floor: sh -c :", shell),
        Row("floor: python -I -S, json, os", python),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
