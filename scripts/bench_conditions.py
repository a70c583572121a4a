"""What conditions cost in a hook, beside the bare interpreter that the hook needs.

Each case is a process of its own, as a hook is: it reads compiled rules and an event
from files and decides every rule. No client and no model.

    scripts/bench_conditions.py             about a minute
    scripts/bench_conditions.py --quick     a smoke test
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.script import exit_code, rounds_of, scratch
from bench.table import Row, show
from bench.timing import run, take_turns

import bridge
from bridge.policy.condition_compiler import compile_condition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.timing import Series

PACKAGE = Path(bridge.__file__).parent.parent
FLOOR = """
import json, sys
for name in sys.argv[1:]:
    with open(name, "rb") as file:
        json.loads(file.read())
"""
DECIDE = f"""
import json, sys
sys.path.append({str(PACKAGE)!r})
from bridge.policy.condition import decide
from bridge.policy.shell_functions import shell
rules, event = [json.loads(open(name, "rb").read()) for name in sys.argv[1:]]
functions = shell()
print([decide(rule, event, functions) for rule in rules].count("no"))
"""
NO_MATCH = [
    'tool_name == "Edit" and not variables.task',
    'tool_name in ["Write", "NotebookEdit"] and require_task_before_edit',
    'command.startswith("git push") and "--force" in command',
    'validation_model and ("ruff" in command or "mypy" in command)',
    'runs(command, "pytest", "ruff")',
    'tool_input.file_path.endswith(".lock")',
    "depth > 2 or len(command) > 10000",
    'matches(command, "docker * push*")',
    "session.title is not None and current_step == 'complete'",
    '"--no-verify" in words(command)',
]
RUNS = ['runs(command, "pytest", "ruff", "mypy")']
LONG = 10 * 1024 * 1024


def main() -> int:
    """Run the benchmark; exit 1 when a goal is missed."""
    rounds, is_quick = rounds_of(__doc__, 60, "processes each")
    with scratch() as folder:
        found = take_turns(cases(folder), rounds)
    rows = compare(found)
    show(f"conditions as processes, {rounds} runs each", rows)
    return exit_code(rows, quick=is_quick)


def cases(root: Path) -> list[Callable[[], Mapping[str, float]]]:
    """Everything that is measured, with its files written."""
    ls, commit, test = "ls -l", "git commit -m 'run pytest later'", "cd x && pytest -q"
    return [
        _case(root, "bare", ls, [], floor=True, ends=None),
        _case(root, "none", ls, [], ends=0),
        _case(root, "ten", ls, NO_MATCH, ends=10),
        _case(root, "thousand", ls, NO_MATCH * 100, ends=1000),
        _case(root, "thousand bare", ls, NO_MATCH * 100, floor=True, ends=None),
        _case(root, "runs", commit, RUNS, ends=1),
        _case(root, "runs, many", commit, NO_MATCH + RUNS, ends=11),
        _case(root, "runs, matches", test, RUNS, ends=0),
        _case(root, "long bare", "x" * LONG, NO_MATCH, floor=True, ends=None),
        _case(root, "long", "x" * LONG, NO_MATCH, ends=9),
    ]


def _case(
    root: Path,
    name: str,
    command: str,
    conditions: list[str],
    *,
    ends: int | None,
    floor: bool = False,
) -> Callable[[], Mapping[str, float]]:
    """Decide conditions about a command; `ends` is how many must not hold."""
    event: dict[str, Any] = {
        "tool_name": "Bash",
        "command": command,
        "tool_input": {"command": command},
        "variables": {"validation_model": None},
        "depth": 0,
    }
    rules = root / f"{name}.rules.json"
    rules.write_text(json.dumps([compile_condition(one).code for one in conditions]))
    (root / f"{name}.event.json").write_text(json.dumps(event))
    script = root / f"{name}.py"
    script.write_text(FLOOR if floor else DECIDE)
    files = [str(script), str(rules), str(root / f"{name}.event.json")]
    words = [sys.executable, "-I", "-S", *files]

    def measure() -> Mapping[str, float]:
        done = run(words, {"PATH": "/usr/bin:/bin"})
        assert done.exit_code == 0, done
        assert ends is None or int(done.stdout) == ends, (name, done)
        return {name: done.ms}

    return measure


def compare(found: dict[str, Series]) -> list[Row]:
    """The table's rows: each figure beside its floor."""
    bare = found["bare"]
    return [
        Row("python3 -I -S, json, an event", bare),
        Row("no rules", found["none"], bare),
        Row("ten rules that do not match", found["ten"], bare, 1.2),
        Row("1,000 rules, beside ten", found["thousand"], found["ten"], 1.5),
        Row("1,000 rules, beside reading them", found["thousand"],
            found["thousand bare"]),
        Row("runs(…), no match, substring present", found["runs"], bare, 3.0),
        Row("the same with ten more rules", found["runs, many"], bare, 3.0),
        Row("runs(…) that matches", found["runs, matches"], bare, 3.0),
        Row("ten rules, a command of 10 MB", found["long"], found["long bare"]),
        Row("the same, beside a short command", found["long"], found["ten"], 12.0),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
