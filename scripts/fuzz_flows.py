#!/usr/bin/env python3
"""Make flows, spoil them, and see that each is read, run or refused with its place.

    scripts/fuzz_flows.py 100000              so many inputs; always the same ones
    scripts/fuzz_flows.py 1000 --from 5000    others
    scripts/fuzz_flows.py 1 --from 5008 --show

What holds for each is in `use`. At the end there is a line for each size class: how
many, and what reading took, and running, for each question: the median, and the
slowest. The tests use the same inputs (tests/flow/test_fuzz.py).
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import sys
import time
from collections import Counter, defaultdict
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from flow_inputs import made
from flow_printer import print_flow

from bridge.engine.begin import BeginOptions, new_run
from bridge.engine.rehearsal import Rehearsal
from bridge.errors import UnclearAnswer
from bridge.flow.checks import Surroundings, check_flow
from bridge.flow.compiler import compile_flow
from bridge.flow.drawing import drawing_of, graph_of, mermaid_of
from bridge.flow.parser import parse_flow
from bridge.flow.problems import InvalidFlow, diagnostics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

    from bridge.agents.diagnostic import Diagnostic
    from bridge.flow.plan import Plan
    from bridge.flow.syntax_tree import Flow

# What the size of a text is counted in: signs, and words and spaces of usual length.
SIGNS = re.compile(r"\w{1,64}|\s{1,64}|[^\w\s]")
# A run that asks more often is played no further.
MAX_ASKED = 100
# What the slowest of a size may take, beside the one in the middle.
MAX_TIMES_USUAL = 20
# So many have no usual time.
FEW = 30
LEAF = parse_flow('---\nname: leaf\nparams: {x: {default: "1"}}\n---\na:"{{x}}"')
# What agents say.
ANSWERS: tuple[Any, ...] = (
    "ok", "{x} {{y}} {v0} -> [a || b] \"'\\", "\0\x1b[31m\ud800", "", "no", "No.", 0,
    1e99, True, None, [], {}, [1, "2", {"x": None}], {"status": "failed"},
    {"status": "failed", "summary": "{v0}"}, {"status": "blocked", "summary": None},
    {"status": "error"}, {"status": [], "summary": {}}, {"issues": ["one"]},
    {"issues": 7}, {"found": {"0": [1]}, "status": "failed"}, "x" * 9999,
)  # fmt: skip
# What people say at a checkpoint: these are neither yes nor no.
UNCLEAR: tuple[Any, ...] = ("", 0, [], "ok,\x1b[31m", "yes, x", "no way, {x}? [a || b]")
SAID: tuple[Any, ...] = (
    "yes", "Yes, but {x} {{y}} {v0} -> [a || b] \"'\\", "no", "No.", True, False, None,
    {"status": "failed"}, "yes, and " + "x" * 9999, *UNCLEAR,
)  # fmt: skip


class Used(NamedTuple):
    """What became of an input, and the seconds that reading it took, and a question."""

    end: str
    read_s: float
    run_s: float


def use(source: str, dice: Random) -> Used:
    """Do with a text whatever can be done with it."""
    begun = time.process_time()
    try:
        flow = parse_flow(source)
    except InvalidFlow as error:
        taken = time.process_time() - begun
        check_places(as_read(source), error.problems)
        return Used("refused", taken, 0)
    found = check_flow(flow, Surroundings(find_flow=find))
    taken = time.process_time() - begun
    problems = [*found.errors, *found.warnings]
    check_places(flow.source, diagnostics("flow", flow.source, problems))
    printed = print_flow(flow)
    assert parse_flow(printed) == flow
    assert print_flow(parse_flow(printed)) == printed
    if found.errors:
        return Used("has errors", taken, 0)
    begun = time.process_time()
    plan = compile_flow(flow, find)
    json.dumps(graph_of(plan))
    assert list(drawing_of(plan))
    assert list(mermaid_of(plan))
    questions = play(plan, dice)
    return Used("runs", taken, (time.process_time() - begun) / (1 + questions))


def find(name: str) -> Flow | str:
    """The one flow that others may call."""
    return LEAF if name == "leaf" else f"no flow is called {name!r}"


def as_read(source: str) -> str:
    """A text in which problems have their places."""
    return source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def check_places(source: str, problems: Iterable[Diagnostic]) -> None:
    """Each problem stands in the text, and its caret below what it is about."""
    lines = source.split("\n")
    for problem in problems:
        assert problem.message
        assert "\n" not in problem.message
        line = lines[problem.line - 1]
        column = problem.column
        assert column is not None
        assert 1 <= column <= len(line) + 1
        shown, caret = (text[4:] for text in problem.quoted.split("\n"))
        at = caret.index("^")
        assert at <= len(shown)
        seen, meant = shown[at : at + 1], line[column - 1 : column]
        assert seen == meant or (seen == " " and not meant.isprintable())


def play(plan: Plan, dice: Random) -> int:
    """Run it with hostile answers, nobody asked, to an end; returns what it asked."""
    options: BeginOptions = {
        "agents": MAX_ASKED,
        "policy": dice.choice(("abort", "skip", "ask")),
        "params": {k: "given" for k, v in plan["inputs"].items() if "required" in v},
    }
    run = new_run("r", plan, options, now_ms=0)
    said = {
        name: dice.choices(SAID if node["kind"] == "approval" else ANSWERS, k=3)
        for name, node in plan["nodes"].items()
    }
    played = Rehearsal(plan, run, said)
    count = 0
    try:
        for count, asked in enumerate(played.go()):
            assert isinstance(asked.text, str)
            if count == 3 * MAX_ASKED:
                return count
    except UnclearAnswer:
        assert plan["nodes"][asked.node]["kind"] == "approval"
        assert asked.answer in UNCLEAR
        return count
    assert played.run["status"] in ("completed", "failed", "paused")
    assert not (played.run["open"] and played.run["status"] == "completed")
    return count


def try_out(numbers: Iterable[int], note: Callable[[int, str, Used], None]) -> None:
    """Use the inputs of these numbers; what fails says which it was."""
    for number in numbers:
        source, dice = made(number)
        try:
            used = use(source, dice)
        except BaseException as error:
            error.add_note(f"input {number}: {source[:3000]!r}")
            raise
        note(number, source, used)


def main() -> int:
    """Try inputs out; exit 1 when one takes 20 times as long as others of its size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", type=int, help="how many inputs")
    parser.add_argument("--from", dest="start", type=int, default=0, metavar="N")
    parser.add_argument("--show", action="store_true", help="only print them")
    chosen = parser.parse_args()
    numbers = range(chosen.start, chosen.start + chosen.count)
    if chosen.show:
        for number in numbers:
            print(repr(made(number)[0]))
        return 0
    ends: Counter[str] = Counter()
    classes: dict[tuple[str, int], list[tuple[float, int]]] = defaultdict(list)

    def note(number: int, source: str, used: Used) -> None:
        ends[used.end] += 1
        size = 1 << len(SIGNS.findall(source)).bit_length()
        classes["read", size].append((used.read_s, number))
        if used.run_s:
            classes["run", size].append((used.run_s, number))
        if number % 1000 == 0:
            gc.collect()

    gc.disable()
    try_out(numbers, note)
    print(", ".join(f"{count:,} {end}" for end, count in sorted(ends.items())))
    worst = 0.0
    for (what, size), taken in sorted(classes.items()):
        usual = median(seconds for seconds, _ in taken)
        slowest, number = max(taken)
        if len(taken) >= FEW:
            # Once more: something else may have had the machine.
            again = use(*made(number))
            once_more = again.read_s if what == "read" else again.run_s
            worst = max(worst, min(slowest, once_more) / usual)
        print(
            f"{what}, up to {size:>9,} words and signs: {len(taken):>7,} inputs, median"
            f" {usual * 1e3:8.2f} ms, slowest {slowest * 1e3:8.2f} ms"
            f" ({slowest / usual:4.1f} x, input {number})"
        )
    return int(worst > MAX_TIMES_USUAL)


if __name__ == "__main__":
    sys.exit(main())
