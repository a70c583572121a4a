"""Which tool calls a permission rule grants."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from grants import granted
from hypothesis import given
from hypothesis import strategies as st

from bridge.policy.permissions import (
    command_pattern,
    names_options,
    parse_rule,
)
from bridge.policy.shell_signs import expansion_sign


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        ("Bash(pytest *)", "pytest tests -q", True),
        ("Bash(pytest *)", "pytest", True),
        ("Bash(pytest:*)", "pytest -q", True),
        ("Bash(pytest *)", "  pytest -q ", True),
        ("Bash(pytest *)", "pytest-evil", False),
        ("Bash(pytest*)", "pytest-xdist", True),
        ("Bash(pytest *)", "X=1 pytest", False),
        ("Bash(pytest *)", "sudo pytest -q", False),
        ("Bash(git * --stat)", "git log -3 --stat", True),
        ("Bash(git * --stat)", "git log --stat -p", False),
        ("Bash(ls)", "ls", True),
        ("Bash(ls)", "ls -l", False),
        ("Bash(make a && make b)", "make a && make b", True),
        ("Bash(make a && make b)", "make a && make b && make c", False),
        ("Bash", "rm -rf / ; echo", True),
        ("Bash(*)", "anything | at all", True),
        ("Read", "cat x", False),
        ("Bash(a.c *)", "abc x", False),
        ("run_command", "anything", True),
        ("run_command(ls *)", "ls -l", True),
        ("run_command(ls *)", "rm x", False),
        *(
            ("Bash(pytest *)", f"pytest x{mark}rm -rf y", False)
            for mark in (";", "&&", "||", "|", " & ", "\n", "\r", "`", "$(", ">", "<")
        ),
        # Double quotes do not protect `$`; an escaped one counts, too.
        ("Bash(pytest *)", 'pytest "$HOME"', False),
        ("Bash(pytest *)", "pytest \\$HOME", False),
        ("Bash(printf *)", r"printf -v 'a[${y:=\044\050x\051}${y@P}]' x", False),
        # zsh runs these.
        ("Bash(pytest *)", "pytest =(touch x)", False),
        ("Bash(pytest *)", "pytest *(e:'touch x':)", False),
        ("Bash(pytest *)", "pytest 'a' (b)", False),
        ("Bash(pytest *)", 'pytest "a\'"(b)"\'"', False),
        # Unclosed quotes.
        ("Bash(pytest *)", "pytest 'a", False),
        ("Bash(pytest *)", 'pytest "a\\"', False),
        ("Bash(pytest *)", "pytest a\\", False),
        ("Bash(pytest *)", 'pytest -k "a or (b and c)"', True),
        ("Bash(pytest *)", "pytest -k 'a and not (b)' it\\'s", True),
        ("Bash(grep *)", "grep 'x$' f", True),
        ("Bash(awk *)", "awk '{print $1}' \"it's\" 'a \"b'", True),
        ("Bash(find *)", "find . \\( -name a -o -name b \\)", True),
    ],
)
def test_commands(rule, command, *, expected):
    """A pattern never covers a command that could run a second one."""
    assert granted(rule, tool="Bash", command=command) is expected


@pytest.mark.parametrize(
    "words",
    [
        r"${y:=$'\x24\x28touch E\x29'} ${y@P}",
        r"${y:=a[$'\x24\x28touch E\x29']} $[y]",
    ],
    ids=["prompt", "arithmetic"],
)
def test_a_second_command_in_escapes_is_not_granted(words, tmp_path):
    """Bash 5 runs a second command here, although nothing looks like one."""
    command = f"true {words}"
    bash = shutil.which("bash")
    if bash and b"version 5" in subprocess.check_output([bash, "--version"]):
        subprocess.run([bash, "-c", command], cwd=tmp_path, check=False, timeout=20)
        assert (tmp_path / "E").exists()

    assert not granted("Bash(true *)", tool="Bash", command=command)


@pytest.mark.parametrize("extra", [True, "yes", 1])
def test_no_rule_grants_leaving_the_sandbox(extra):
    assert not granted(
        "Bash", tool="Bash", command="ls", dangerouslyDisableSandbox=extra
    )
    assert granted("Bash", tool="Bash", command="ls", dangerouslyDisableSandbox=False)


@pytest.mark.parametrize(
    ("rule", "tool", "tool_input", "expected"),
    [
        ("WebFetch(domain:x.org)", "WebFetch", {"url": "https://x.org/a"}, True),
        ("WebFetch(domain:x.org)", "WebFetch", {"url": "https://x.org.evil/a"}, False),
        ("WebFetch(domain:x.org)", "WebFetch", {"url": "https://x.org@evil/"}, False),
        ("WebFetch(domain:x.org)", "WebFetch", {"url": 5}, False),
        ("WebSearch", "WebSearch", {"query": "a"}, True),
        ("mcp__git", "mcp__git__log", {}, True),
        ("mcp__git__*", "mcp__git__log", {}, True),
        ("mcp__git", "mcp__github__log", {}, False),
        ("mcp__git__log", "mcp__git__log", {}, True),
        ("Agent(Explore)", "Agent", {"subagent_type": "Explore"}, True),
        ("Agent(Explore)", "Agent", {"subagent_type": "Plan"}, False),
        ("Bash(x *)", "Bash", {}, False),
        ("Bash(x *)", "Bash", {"command": ["x"]}, False),
    ],
)
def test_other_tools(rule, tool, tool_input, *, expected):
    assert granted(rule, tool=tool, **tool_input) is expected


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("Bash(x", "expected Tool or Tool(what), such as Bash(pytest *)"),
        ("", "expected Tool or Tool(what), such as Bash(pytest *)"),
        (
            "WebFetch(x.org)",
            "expected WebFetch(domain:HOST), one host in plain letters",
        ),
        ("TodoWrite(x)", "a rule for TodoWrite takes nothing in parentheses"),
    ],
)
def test_error_in_a_rule(rule, problem):
    """An invalid rule grants nothing."""
    assert parse_rule(rule) == problem
    assert not granted(rule, tool="Bash", command="x")


# A hang would be inside a regular expression, whose steps cannot be counted.
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("spec", "command", "covers"),
    [
        ("*a" * 12, "a" * 3000 + "b", False),
        ("*a" * 12 + " *", "a" * 3000, True),
        ("* * * * * x", "- " * 2000, False),
    ],
)
def test_many_stars_in_a_command_take_little_work(spec, command, *, covers):
    """A model writes the command, and a hook has little time."""
    assert granted(f"Bash({spec})", tool="Bash", command=command) is covers


@given(
    st.lists(st.sampled_from(["a", "b", " ", "*", "ab"]), min_size=1, max_size=8),
    st.text("ab ", max_size=12),
)
def test_a_star_stands_for_anything(parts, command):
    """The same as a regular expression that backtracks."""
    spec = "".join(parts)
    loose = ".*".join(map(re.escape, spec.split("*")))
    loose = re.sub(r"\\ \.\*\Z", r"(?:\\ .*)?", loose)

    found = command_pattern(spec).fullmatch(command) is not None

    assert found is (re.fullmatch(loose, command) is not None)


@pytest.mark.parametrize(
    ("rule", "is_ours"),
    [
        ("Bash(pytest [-q] *)", True),
        ("Bash(pytest *)", False),
        ("Bash", False),
        ("Read(a [-b])", False),
        ("no rule", False),
    ],
)
def test_the_client_does_not_know_rules_that_name_options(rule, *, is_ours):
    assert names_options(rule) is is_ours


def test_quoted_characters_are_not_expanded():
    assert expansion_sign("'*' a") is None
    assert expansion_sign("* 'a'") == "*"
