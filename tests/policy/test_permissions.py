"""Which calls a permission rule grants: a table, and what never matches."""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from counted import at_most
from hypothesis import given
from hypothesis import strategies as st

from bridge.policy.permissions import (
    command_pattern,
    is_granted,
    names_options,
    parse_rule,
)
from bridge.policy.shell_syntax import expansion_sign

if TYPE_CHECKING:
    from pathlib import Path

PROJECT = "/w/app"
# A link in the project that leads out of it.
LINKS = {"/w/app/src/out": "/etc"}


def resolve(path: str) -> str:
    full = posixpath.normpath(posixpath.join(PROJECT, path))
    for link, target in LINKS.items():
        if full == link or full.startswith(link + "/"):
            return target + full[len(link) :]
    return full


def granted(rule: str, tool: str, **tool_input: Any) -> bool:
    return is_granted([rule], tool, tool_input, project=PROJECT, resolve=resolve)


@pytest.mark.parametrize(
    ("rule", "command", "is_yes"),
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
        # Double quotes keep no `$` from a shell; an escaped one is not told apart.
        ("Bash(pytest *)", 'pytest "$HOME"', False),
        ("Bash(pytest *)", "pytest \\$HOME", False),
        ("Bash(printf *)", r"printf -v 'a[${y:=\044\050x\051}${y@P}]' x", False),
        # What zsh runs.
        ("Bash(pytest *)", "pytest =(touch x)", False),
        ("Bash(pytest *)", "pytest *(e:'touch x':)", False),
        ("Bash(pytest *)", "pytest 'a' (b)", False),
        ("Bash(pytest *)", 'pytest "a\'"(b)"\'"', False),
        # Nobody knows where it ends.
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
def test_commands(rule: str, command: str, *, is_yes: bool) -> None:
    """A pattern never covers a command that could run a second one."""
    assert granted(rule, "Bash", command=command) is is_yes


@pytest.mark.parametrize(
    "words",
    [
        r"${y:=$'\x24\x28touch E\x29'} ${y@P}",
        r"${y:=a[$'\x24\x28touch E\x29']} $[y]",
    ],
    ids=["prompt", "arithmetic"],
)
def test_a_second_command_that_is_spelt_in_escapes(words: str, tmp_path: Path) -> None:
    """Without any sign of a second command: bash 5 runs one, and no rule grants it."""
    command = f"true {words}"
    bash = shutil.which("bash")
    if bash and b"version 5" in subprocess.check_output([bash, "--version"]):
        subprocess.run([bash, "-c", command], cwd=tmp_path, check=False, timeout=20)
        assert (tmp_path / "E").exists()

    assert not granted("Bash(true *)", "Bash", command=command)


@pytest.mark.parametrize("extra", [True, "yes", 1])
def test_no_rule_grants_a_way_out_of_the_sandbox(extra: object) -> None:
    assert not granted("Bash", "Bash", command="ls", dangerouslyDisableSandbox=extra)
    assert granted("Bash", "Bash", command="ls", dangerouslyDisableSandbox=False)


@pytest.mark.parametrize(
    ("rule", "tool", "path", "is_yes"),
    [
        ("Edit(src/**)", "Edit", "src/a/b.py", True),
        ("Edit(src/**)", "Write", "/w/app/src/b.py", True),
        ("Edit(src/**)", "Edit", "src/../setup.py", False),
        ("Edit(src/**)", "Edit", "/etc/src/x", False),
        ("Edit(src/**)", "Edit", "src/out/passwd", False),
        ("Edit(src/**)", "Read", "src/b.py", False),
        ("Edit(src/*)", "Edit", "src/a/b.py", False),
        ("Edit(src/*.py)", "Edit", "src/b.py", True),
        ("Edit(**/*.py)", "Edit", "b.py", True),
        ("Edit(**/*.py)", "Edit", "x/y/b.py", True),
        ("Edit(/src/**)", "Edit", "src/b.py", True),
        ("Edit(./src/**)", "Edit", "src/b.py", True),
        ("Edit(//etc/**)", "Edit", "/etc/x", True),
        ("Edit(src/?.py)", "Edit", "src/ab.py", False),
        ("Edit", "Edit", "anywhere.py", True),
        ("Edit", "Edit", ".claude/settings.json", False),
        ("Edit", "Write", ".git/hooks/pre-commit", False),
        ("Edit(**)", "Write", ".bridge/agents/x.yaml", False),
        ("Edit(.claude/**)", "Edit", ".claude/x", True),
        ("Edit", "Edit", ".Claude/settings.json", False),
        ("Edit(**)", "Write", "a/.GIT/config", False),
        ("Edit(.github/**)", "Edit", ".github/.git/x", False),
        ("Edit(.github/**)", "Edit", ".github/x", True),
        # What lies outside governs the user's other sessions.
        ("Edit", "Edit", "/home/u/.claude/settings.json", False),
        ("Edit(//home/u/**)", "Edit", "/home/u/.claude/settings.json", False),
        ("Edit(//w/app/**)", "Edit", "/w/app/src/x", True),
        ("Read(src/**)", "Read", "src/x", True),
        ("Read(src/**)", "Read", "src", True),
        ("Read", "Read", ".git/config", True),
        ("Write(src/**)", "Edit", "src/x", True),
        ("read_file(src/**)", "Read", "src/x", True),
        ("read_file", "Grep", "src/x", True),
    ],
)
def test_files(rule: str, tool: str, path: str, *, is_yes: bool) -> None:
    """Where the file really is decides, not how it is written."""
    assert granted(rule, tool, file_path=path) is is_yes


@pytest.mark.parametrize(
    ("rule", "path", "is_yes"),
    [
        ("Edit(src/**)", "src/x.py", True),
        ("Edit", "src/x.py", True),
        ("Edit", ".claude/settings.json", False),
        ("Edit", "../../settings.json", False),
        ("Edit(//w/app/**)", "src/x.py", False),
        ("Edit(//w/app/.claude/worktrees/**)", "src/x.py", True),
    ],
)
def test_files_of_a_worktree_in_a_folder_that_governs(
    rule: str, path: str, *, is_yes: bool
) -> None:
    """What is above the project governs no session in it; no rule granted anything."""
    project = "/w/app/.claude/worktrees/a"

    def real(path: str) -> str:
        return posixpath.normpath(posixpath.join(project, path))

    given = {"file_path": path}
    found = is_granted([rule], "Edit", given, project=project, resolve=real)
    assert found is is_yes


@pytest.mark.parametrize(
    "project", ["/u/.claude", "/u/.Claude/agents", "/w/.bridge", "/w/.git/worktrees/a"]
)
def test_error_files_of_a_project_that_governs(project: str) -> None:
    """The user's own settings, say: no rule for what is edited there names it."""

    def real(path: str) -> str:
        return posixpath.normpath(posixpath.join(project, path))

    for rule in ("Edit", "Edit(**)"):
        given = {"file_path": "settings.json"}
        assert not is_granted([rule], "Edit", given, project=project, resolve=real)


@pytest.mark.parametrize(
    ("pattern", "is_yes"), [("*.py", True), ("../**", False), ("/etc/*", False)]
)
def test_a_search_that_wanders_off(pattern: str, *, is_yes: bool) -> None:
    assert granted("Read(src/**)", "Glob", path="src", pattern=pattern) is is_yes


@pytest.mark.parametrize(
    ("rule", "tool", "given", "is_yes"),
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
def test_others(rule: str, tool: str, given: Any, *, is_yes: bool) -> None:
    assert granted(rule, tool, **given) is is_yes


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
def test_error_rules_that_mean_nothing(rule: str, problem: str) -> None:
    """And grant nothing."""
    assert parse_rule(rule) == problem
    assert not granted(rule, "Bash", command="x")


# What hangs here hangs in a regular expression, whose steps nobody counts.
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("spec", "command", "covers"),
    [
        ("*a" * 12, "a" * 3000 + "b", False),
        ("*a" * 12 + " *", "a" * 3000, True),
        ("* * * * * x", "- " * 2000, False),
    ],
)
def test_many_stars_are_little_work(spec: str, command: str, *, covers: bool) -> None:
    """The command is a model's, and a hook that thinks for a minute is none."""
    assert granted(f"Bash({spec})", "Bash", command=command) is covers


@given(
    st.lists(st.sampled_from(["a", "b", " ", "*", "ab"]), min_size=1, max_size=8),
    st.text("ab ", max_size=12),
)
def test_stars_stand_for_anything(parts: list[str], command: str) -> None:
    """As a regular expression says it that tries every place."""
    spec = "".join(parts)
    loose = ".*".join(map(re.escape, spec.split("*")))
    loose = re.sub(r"\\ \.\*\Z", r"(?:\\ .*)?", loose)

    found = command_pattern(spec).fullmatch(command) is not None

    assert found is (re.fullmatch(loose, command) is not None)


@pytest.mark.parametrize(
    "spec",
    [
        "**/" * 40 + "x",
        "**/a/" * 20 + "x",
        "**" * 30 + "x",
        "*a" * 40 + "x",
        "**/*a*a*a*a*a/" * 10 + "x",
        "?**" * 30 + "x",
    ],
)
def test_many_stars_in_a_path_are_little_work(spec: str) -> None:
    """The path is a model's, and the rule may be anybody's; once it took for ever."""
    with at_most(lines=1_000_000):
        for path in ("a/" * 600 + "b", "a" * 1200 + "b"):
            assert not granted(f"Read({spec})", "Read", file_path=path)


@given(
    st.lists(
        st.sampled_from(["a", "b", "/", "*", "**", "**/", "/**", "?"]),
        min_size=1,
        max_size=7,
    ),
    st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=4),
)
def test_a_path_is_covered_as_a_regular_expression_says(
    parts: list[str], names: list[str]
) -> None:
    """One that tries every place; for a few words that takes no time."""
    spec = f"x/{''.join(parts)}"
    means = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    words = re.split(r"(\*\*/|\*\*|\*|\?)", spec)
    loose = "".join(means.get(word, re.escape(word)) for word in words)
    if loose.endswith("/.*"):
        loose = loose.removesuffix("/.*") + "(?:/.*)?"
    path = "/".join(["x", *names])

    found = granted(f"Read({spec})", "Read", file_path=path)

    assert found is (re.fullmatch(loose, path, re.S) is not None)


@pytest.mark.parametrize(
    "url",
    [
        "https://x.org",
        "https://x.org/a?b=c#d",
        "http://x.org/",
        "HTTPS://X.ORG/a",
        "https://x.org:443/a",
        "http://x.org:80",
        "https://x.org?q=a@b",
    ],
)
def test_a_plain_url_of_a_granted_host(url: str) -> None:
    assert granted("WebFetch(domain:x.org)", "WebFetch", url=url)
    assert granted("WebFetch(domain:X.org)", "WebFetch", url=url)


@pytest.mark.parametrize(
    "url",
    [
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
    ],
)
def test_error_a_url_that_readers_may_differ_about(url: str) -> None:
    r"""A client that reads `\\` as `/` goes elsewhere than one that does not."""
    assert not granted("WebFetch(domain:x.org)", "WebFetch", url=url)


@pytest.mark.parametrize("host", ["*.x.org", "x.org/a", "x.org:80", "х.org", "[::1]"])  # noqa: RUF001
def test_error_a_rule_that_names_no_plain_host(host: str) -> None:
    problem = "expected WebFetch(domain:HOST), one host in plain letters"
    assert parse_rule(f"WebFetch(domain:{host})") == problem


@pytest.mark.parametrize(
    ("rule", "tool", "given", "is_yes"),
    [
        ("Read(src/**)", "Grep", {"path": "src", "glob": "*.py"}, True),
        ("Read(src/**)", "Grep", {"path": "src", "glob": "**/*.{py,test.ts}"}, True),
        ("Read(src/**)", "Grep", {"path": "src", "glob": "../../**"}, False),
        ("Read(src/**)", "Grep", {"path": "src", "glob": "{.,x}./**"}, False),
        ("Read(src/**)", "Grep", {"path": "src", "glob": ".{,x}./**"}, False),
        ("Read(src/**)", "Grep", {"path": "src", "glob": "\\.\\./**"}, False),
        ("Read(src/**)", "Grep", {"path": "src", "glob": "/etc/*"}, False),
        ("Read(src/**)", "Grep", {"path": "src", "glob": 5}, False),
        ("Read(src/**)", "Grep", {"pattern": "../x", "path": "src"}, True),
        ("Read(src/**)", "Grep", {"pattern": "x"}, False),
        ("Read(src/**)", "Grep", {"path": "/etc", "file_path": "src/a"}, False),
        ("Read(src/**)", "Glob", {"path": "src", "pattern": "*"}, True),
        ("Read(**)", "Glob", {"pattern": "src/*.py"}, True),
        ("Read(**)", "Glob", {"pattern": "src/out/*"}, False),
        ("Read(src/**)", "Glob", {"path": "src", "pattern": "out/*"}, False),
        ("Read(src/**)", "Glob", {"path": "src/out", "pattern": "*"}, False),
        ("Read(src/**)", "Glob", {"path": "src", "pattern": "~/*"}, False),
        ("Read(src/**)", "LS", {"path": "src"}, True),
        ("Read(src/**)", "LS", {"path": "src/out"}, False),
        ("Read(**)", "Read", {"file_path": "~/.ssh/id"}, False),
        ("Read(**)", "Read", {"file_path": " /etc/passwd"}, False),
        ("Read(**)", "Read", {"file_path": "/etc/passwd", "path": "a"}, False),
        ("Read(**)", "Read", {"path": "a"}, False),
        ("Read(**)", "Read", {"file_path": "a\x00b"}, False),
        ("Read(**)", "Read", {"file_path": "e\u0301"}, False),
        ("Read(**)", "Read", {"file_path": "\u00e9"}, True),
        ("Edit(**)", "Write", {"file_path": "~/.bashrc"}, False),
        ("Edit", "Write", {"file_path": "~/.bashrc"}, False),
        ("Edit(**)", "NotebookEdit", {"notebook_path": "a.ipynb"}, True),
        (
            "Edit(**)",
            "NotebookEdit",
            {"notebook_path": "/etc/a.ipynb", "file_path": "a"},
            False,
        ),
        ("Edit(src/**)", "MultiEdit", {"file_path": "src/out/x"}, False),
        ("Edit(**)", "Write", {"content": "x"}, False),
    ],
)
def test_what_a_tool_opens_is_what_is_looked_at(
    rule: str, tool: str, given: dict[str, Any], *, is_yes: bool
) -> None:
    """Its own key, its patterns too, and no path that the client reads otherwise."""
    assert granted(rule, tool, **given) is is_yes


def test_a_path_that_no_file_system_has_is_not_granted() -> None:
    """An exception here would end in a dialog."""

    def broken(path: str) -> str:
        path.encode()
        return path

    given = {"file_path": "\ud800"}
    assert not is_granted(["Read(**)"], "Read", given, project=PROJECT, resolve=broken)


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
def test_a_rule_that_names_options_is_unknown_to_the_client(
    rule: str, *, is_ours: bool
) -> None:
    assert names_options(rule) is is_ours


def test_what_is_quoted_from_the_first_letter_is_not_expanded() -> None:
    assert expansion_sign("'*' a") is None
    assert expansion_sign("* 'a'") == "*"
