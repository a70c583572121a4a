"""Which tool calls a permission rule grants."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from grants import granted
from hypothesis import given
from hypothesis import strategies as st

from bridge.policy.command_rules import command_pattern
from bridge.policy.permission_rules import names_options, parse_rule
from bridge.policy.permissions import Call, is_granted, why_not_granted
from bridge.policy.shell_signs import expansion_sign
from bridge.policy.tool_names import is_known, on_host, rule_on_host

COMMANDS = [
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
    # No shell takes these for a space: they name another file.
    ("Bash(cat a)", "cat a\t", True),
    ("Bash(cat a)", "cat a\u2003", False),
    ("Bash(cat a)", "cat a\x0b", False),
    ("Bash(cat a)", "cat a\x1f", False),
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
]


@pytest.mark.parametrize(("rule", "command", "expected"), COMMANDS)
def test_commands(rule, command, *, expected):
    """A pattern never covers a command that could run a second one."""
    assert granted(rule, tool="Bash", command=command) is expected


@pytest.mark.parametrize("rule", ["Bash(make test)", "Bash(make *)", "Bash(make [])"])
def test_a_rule_of_a_program_holds_in_the_project_alone(rule):
    """Another folder has another Makefile; the user's own rules are about no folder."""
    call = Call("Bash", {"command": "make test"}, "/w/app", lambda _: "/w/other")

    assert not is_granted([rule], call)
    assert not is_granted([rule], replace(call, resolve=lambda _: "/w/app/src")) or (
        "[" in rule
    )
    assert is_granted(["Bash"], call)
    assert is_granted(["Bash(make *)"], replace(call, anywhere=True))
    assert "outside the folder" in (why_not_granted([rule], call) or "")


@pytest.mark.parametrize(
    "words",
    [r"${y:=$'\x24\x28touch E\x29'} ${y@P}", r"${y:=a[$'\x24\x28touch E\x29']} $[y]"],
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


OTHER_TOOLS = [
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
]


@pytest.mark.parametrize(("rule", "tool", "tool_input", "expected"), OTHER_TOOLS)
def test_other_tools(rule, tool, tool_input, *, expected):
    assert granted(rule, tool=tool, **tool_input) is expected


BAD_RULES = [
    ("Bash(x", "expected Tool or Tool(what), such as Bash(pytest *)"),
    ("", "expected Tool or Tool(what), such as Bash(pytest *)"),
    ("WebFetch(x.org)", "expected WebFetch(domain:HOST), one host in plain letters"),
    ("TodoWrite(x)", "a rule for TodoWrite takes nothing in parentheses"),
]


@pytest.mark.parametrize(("rule", "problem"), BAD_RULES)
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


NAMING_OPTIONS = [
    ("Bash(pytest [-q] *)", True),
    ("Bash(pytest *)", False),
    ("Bash", False),
    ("Read(a [-b])", False),
    ("no rule", False),
]


@pytest.mark.parametrize(("rule", "is_ours"), NAMING_OPTIONS)
def test_the_client_does_not_know_rules_that_name_options(rule, *, is_ours):
    assert names_options(rule) is is_ours


def test_quoted_characters_are_not_expanded():
    assert expansion_sign("'*' a") is None
    assert expansion_sign("* 'a'") == "*"


# Which URLs a rule for WebFetch covers


PLAIN = [
    "https://x.org",
    "https://x.org/a?b=c#d",
    "http://x.org/",
    "HTTPS://X.ORG/a",
    "https://x.org:443/a",
    "http://x.org:80",
    "https://x.org?q=a@b",
]


@pytest.mark.parametrize("url", PLAIN)
def test_a_plain_url_of_a_granted_host_is_covered(url):
    assert granted("WebFetch(domain:x.org)", tool="WebFetch", url=url)
    assert granted("WebFetch(domain:X.org)", tool="WebFetch", url=url)


ODD = [
    "http://evil.invalid\\@x.org/",
    "http://evil.invalid#@x.org/",
    "http://evil.invalid?@x.org/",
    "http://evil.invalid/@x.org",
    "https://user@x.org/",
    "https://user:word@x.org/",
    "https://x.org\\@evil.invalid/",
    "https://x.org\\.evil.invalid/",
    "https:x.org/",
    "https:///x.org/",
    "https:\\\\x.org/",
    "//x.org/",
    "x.org",
    "file://x.org/etc/passwd",
    "ftp://x.org/",
    "javascript://x.org/%0aalert(1)",
    "https://x.org:8443/",
    "https://x.org:80/",
    "http://x.org:443/",
    "https://x.org:/",
    "https://x.org./",
    "https://x.org%2eevil.invalid/",
    "https://x%2eorg/",
    "https://х.org/",  # noqa: RUF001
    "https://x。org/",
    "https://xn--x.org/",
    "https://[::1]/",
    "https://[x.org]/",
    "https://x.o\trg/",
    "https://x.org\t.evil.invalid/",
    "https://x.org\n@evil.invalid/",
    " https://x.org/",
    "https://x.org/ ",
    "\x00https://x.org/",
    "https://x.org/\\@evil.invalid",
    "https://sub.x.org/",
    "https://x.org.evil.invalid/",
    "",
]


@pytest.mark.parametrize("url", ODD)
def test_error_a_url_that_readers_disagree_about(url):
    r"""A client that takes `\\` for `/` reaches another host than one that does not."""
    assert not granted("WebFetch(domain:x.org)", tool="WebFetch", url=url)


@pytest.mark.parametrize("host", ["*.x.org", "x.org/a", "x.org:80", "х.org", "[::1]"])  # noqa: RUF001
def test_error_a_rule_without_a_plain_host(host):
    problem = "expected WebFetch(domain:HOST), one host in plain letters"
    assert parse_rule(f"WebFetch(domain:{host})") == problem


# The names of tools: which exist, and which are the client's


@pytest.mark.parametrize("name", ["Read", "read_file", "Task", "WebFetch", "mcp__x__y"])
def test_known_tools(name):
    assert is_known(name)


@pytest.mark.parametrize("name", ["Raed", "read", "mcp_x", ""])
def test_unknown_tools(name):
    assert not is_known(name)


def test_our_names_become_the_clients():
    names = ("read_file", "Read", "Task", "mcp__x__y", "run_command")

    assert on_host(names) == ("Read", "Agent", "mcp__x__y", "Bash")


@pytest.mark.parametrize(
    ("rule", "on_client"),
    [
        (" run_command(ls *) ", "Bash(ls *)"),
        ("search_text", "Grep"),
        ("Edit(a)", "Edit(a)"),
    ],
)
def test_a_rule_by_the_clients_name(rule, on_client):
    assert rule_on_host(rule) == on_client
