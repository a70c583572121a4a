"""What a rule lets an agent do, in the words of `agents check` and `trust`."""

import pytest

from bridge.policy.grant_description import is_wide, what_it_lets
from bridge.policy.permission_rules import parse_rule

ALL = "run other programs, write any file, read any file and reach the network"
NAMED = "only the options named, inside the project"
FILES = "write any file and read any file"
CONFIGURED = "what the project's configuration says"
RUNS = "runs the project's own programs"


OWN_PROGRAMS = [
    # Through plugins that the configuration names.
    "Bash(mypy [--strict] *)",
    "Bash(pylint [] *)",
    # The file in the operand, or a module of the project.
    "Bash(python3 [] *)",
    "Bash(python3 -I [] *)",
    "Bash(python3 -m py_compile [] *)",
    "Bash(python3 tools/check.py [-q])",
    "Bash(bash [] *)",
    "Bash(node [] *)",
    "Bash(tools/check [-q] *)",
    "Bash(timeout 60 pytest [-q] *)",
]


@pytest.mark.parametrize("rule", OWN_PROGRAMS)
def test_a_rule_that_runs_the_projects_own_programs(rule):
    parsed = parse_rule(rule)

    assert what_it_lets(parsed) == f"{NAMED}, and {RUNS}"


LETS = [
    ("Bash", "every command: all that you can do yourself", False),
    ("Bash(git diff *)", f"git with any option, which can {ALL}", True),
    ("Bash(/usr/bin/git:*)", f"git with any option, which can {ALL}", True),
    ("Bash(ruff check *)", f"ruff with any option, which can {FILES}", True),
    ("Bash(make *)", f"make with any option, which can {ALL}, and {RUNS}", True),
    ("Bash(cat *)", "cat with any option, which can read any file", False),
    ("Bash(echo *)", "echo with any option", False),
    ("Bash(mine *)", "whatever mine can do with any option", False),
    ("Bash(g*)", "whatever a program whose name fits can do", False),
    ("Bash(make test)", f"this command alone, and {RUNS}", False),
    ("Bash(bash -n [] *)", NAMED, False),
    ("Bash(ruff check [--quiet] *)", f"{NAMED}, and {CONFIGURED}", False),
    ("Bash(ruff check --isolated [--quiet] *)", NAMED, False),
    ("Bash(python3 -m pytest [-q] *)", f"{NAMED}, and {RUNS}", False),
    ("Bash(python3 -I -m py_compile [] *)", NAMED, False),
    ("Edit", "changes any file, also outside the project", False),
    ("Edit(src/**)", None, False),
    ("WebSearch", None, False),
]


@pytest.mark.parametrize(("rule", "lets", "is_warned"), LETS)
def test_what_a_rule_lets_an_agent_do(rule, lets, *, is_warned):
    parsed = parse_rule(rule)

    assert what_it_lets(parsed) == lets
    assert is_wide(parsed) is is_warned
