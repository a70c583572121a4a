"""What is wrong with a flow that can be parsed."""

import re
from difflib import get_close_matches
from pathlib import Path

import pytest

from bridge.flow.checks import Surroundings, check_flow
from bridge.flow.parser import parse_flow
from bridge.flow.problems import MAX_PROBLEMS
from bridge.hints import place

# Each a flow, and its problems below.
CASES = (Path(__file__).parent / "samples" / "checks.txt").read_text().split("\n\n")
AGENTS = ("Explore", "Plan", "a", "b", "c", "d")
FLOWS = {
    "leaf": 'a:"{{x}} {{y:1}}"',
    "one": "@call:two",
    "two": "@call:one",
    "self": "@call:self",
    **{f"d{depth}": f"@call:d{depth + 1}" for depth in range(1, 5)},
    "d5": '@call:leaf(x="1")',
}


def wrong_agent(name):
    if name in AGENTS:
        return None
    near = get_close_matches(name, AGENTS, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"no agent is named {name!r}{hint}"


def find_flow(name):
    return parse_flow(FLOWS[name]) if name in FLOWS else f"no flow is called {name!r}"


def found(source):
    """Place and message of every problem: errors, then warnings."""
    flow = parse_flow(source)
    findings = check_flow(flow, Surroundings(wrong_agent, find_flow))
    return [
        f"{line}:{column}: {level}{problem.message}"
        for level, problems in (("", findings.errors), ("warning: ", findings.warnings))
        for problem in sorted(problems, key=lambda problem: problem.at)
        for line, column in [place(flow.source, problem.at)]
    ]


@pytest.mark.parametrize("case", CASES, ids=[case.split("\n")[0] for case in CASES])
def test_check(case):
    """Errors keep a flow from running; a warning may be a mistake, or meant."""
    source, *problems = re.split("^    ", case, flags=re.M)

    assert found(source) == [problem.rstrip("\n") for problem in problems]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (" || ".join(["a"] * 1_001), "1,001 agents at once; a flow has 1,000 at most"),
        ("a -> " * 20_000 + "a", "20,001 steps; a flow has 20,000 at most"),
        (
            '$own := {base: "a", prompt: "%s"} ' % ("x" * 1_000_000) + "$own -> " * 11,
            "11,000,000 characters of prompts; a flow has 10,000,000 at most",
        ),
    ],
)
def test_a_flow_has_limits(source, problem):
    """Found before anything is made of it that no machine could hold."""
    assert found(source) == [f"1:1: {problem}"]


def test_problems_have_a_limit():
    source = " -> ".join(f"x{index}" for index in range(1_000))
    assert len(found(source)) == MAX_PROBLEMS


def test_without_surroundings_nobody_asks_for_names():
    """A graph is the same wherever its agents are."""
    flow = parse_flow("elsewhere -> @call:elsewhere")

    assert check_flow(flow).errors == []
