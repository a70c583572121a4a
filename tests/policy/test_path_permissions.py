"""Which files a permission rule covers, wherever a path or a pattern leads."""

import re

import pytest
from counted import at_most
from grants import PROJECT, granted
from hypothesis import given
from hypothesis import strategies as st

from bridge.policy.permissions import Call, is_granted

FILES = [
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
    ("Edit", "Write", ".mcp.json", False),
    ("Edit(**)", "Write", "a/.MCP.json", False),
    ("Edit(.mcp.json)", "Write", ".mcp.json", True),
    ("Edit", "Edit", ".Claude/settings.json", False),
    ("Edit(**)", "Write", "a/.GIT/config", False),
    ("Edit(.github/**)", "Edit", ".github/.git/x", False),
    ("Edit(.github/**)", "Edit", ".github/x", True),
    # Files outside govern the user's other sessions.
    ("Edit", "Edit", "/home/u/.claude/settings.json", False),
    ("Edit(//home/u/**)", "Edit", "/home/u/.claude/settings.json", False),
    ("Edit(//w/app/**)", "Edit", "/w/app/src/x", True),
    ("Read(src/**)", "Read", "src/x", True),
    ("Read(src/**)", "Read", "src", True),
    ("Read", "Read", ".git/config", True),
    ("Write(src/**)", "Edit", "src/x", True),
    ("read_file(src/**)", "Read", "src/x", True),
    ("read_file", "Grep", "src/x", True),
]


@pytest.mark.parametrize(("rule", "tool", "path", "expected"), FILES)
def test_files(rule, tool, path, *, expected):
    """The real path counts, not the path as it is written."""
    assert granted(rule, tool=tool, file_path=path) is expected


CLAUDES_WORKTREE = [
    ("Edit(src/**)", "src/x.py", True),
    ("Edit", "src/x.py", True),
    ("Edit", ".claude/settings.json", False),
    ("Edit", "../../settings.json", False),
    ("Edit(//w/app/**)", "src/x.py", False),
    ("Edit(//w/app/.claude/worktrees/**)", "src/x.py", True),
]


@pytest.mark.parametrize(("rule", "path", "expected"), CLAUDES_WORKTREE)
def test_files_of_a_worktree_below_dot_claude(rule, path, *, expected):
    """The folder above a worktree does not govern its sessions."""
    project = "/w/app/.claude/worktrees/a"

    found = granted(rule, tool="Edit", project=project, file_path=path)

    assert found is expected


OUR_WORKTREE = [
    ("Edit(src/**)", "src/x.py", True),
    ("Edit", "src/x.py", True),
    ("Write(**)", "x", True),
    ("Edit", ".claude/settings.json", False),
    ("Edit", ".git", False),
    ("Edit", "../b.json", False),
    ("Edit", "../../../tasks.db", False),
    ("Edit(//u/app/**)", "src/x.py", False),
]


@pytest.mark.parametrize(("rule", "path", "expected"), OUR_WORKTREE)
@pytest.mark.parametrize("main", ["w/app", "w/.claude/worktrees/x", "w/@@x"])
def test_files_of_a_worktree_that_hostbridge_has_made(main, rule, path, *, expected):
    """It lies in the state of its project, which nothing else there may change."""
    project = f"/u/.hostbridge/state/{main}/@/worktrees/run1/dev"

    found = granted(rule, tool="Edit", project=project, file_path=path)

    assert found is expected


NO_WORKTREE = [
    "/u/.hostbridge/state/w/app/@",
    "/u/.hostbridge/state/w/app/@/worktrees",
    "/u/.hostbridge/state/w/app/@/worktrees/run1",
    "/u/.hostbridge/state/w/app/@/worktrees/run1/dev/.bridge",
    "/u/.hostbridge/state/w/app/@/runs/run1/x",
    "/u/.hostbridge/worktrees/run1/dev",
]


@pytest.mark.parametrize("project", NO_WORKTREE)
def test_error_the_state_of_a_project_is_no_worktree(project):
    assert not granted("Edit", tool="Edit", project=project, file_path="x")


@pytest.mark.parametrize(
    "project", ["/u/.claude", "/u/.Claude/agents", "/w/.bridge", "/w/.git/worktrees/a"]
)
def test_error_a_project_inside_a_governing_folder(project):
    """Such as the user's own settings: a rule would have to name that folder."""
    for rule in ("Edit", "Edit(**)"):
        assert not granted(rule, tool="Edit", project=project, file_path="a.json")


@pytest.mark.parametrize(
    ("pattern", "expected"), [("*.py", True), ("../**", False), ("/etc/*", False)]
)
def test_a_search_stays_in_its_folder(pattern, *, expected):
    assert granted("Read(src/**)", tool="Glob", path="src", pattern=pattern) is expected


STARS = [
    "**/" * 40 + "x",
    "**/a/" * 20 + "x",
    "**" * 30 + "x",
    "*a" * 40 + "x",
    "**/*a*a*a*a*a/" * 10 + "x",
    "?**" * 30 + "x",
]


@pytest.mark.parametrize("spec", STARS)
def test_many_stars_in_a_path_take_little_work(spec):
    """A model writes the path, and anybody may have written the rule."""
    with at_most(lines=1_000_000):
        for path in ("a/" * 600 + "b", "a" * 1200 + "b"):
            assert not granted(f"Read({spec})", tool="Read", file_path=path)


@given(
    st.lists(
        st.sampled_from(["a", "b", "/", "*", "**", "**/", "/**", "?"]),
        min_size=1,
        max_size=7,
    ),
    st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=4),
)
def test_path_patterns_agree_with_a_regular_expression(parts, names):
    """The same as a regular expression that backtracks."""
    spec = f"x/{''.join(parts)}"
    means = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    # Any folders below any folders are any folders.
    words = re.split(r"(\*\*/|\*\*|\*|\?)", re.sub(r"(/\*\*)+(?=/|\Z)", "/**", spec))
    loose = "".join(means.get(word, re.escape(word)) for word in words)
    if loose.endswith("/.*"):
        loose = loose.removesuffix("/.*") + "(?:/.*)?"
    path = "/".join(["x", *names])

    found = granted(f"Read({spec})", tool="Read", file_path=path)

    assert found is (re.fullmatch(loose, path, re.S) is not None)


INPUTS = [
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
    ("Edit(**)", "NotebookEdit", {"notebook_path": "/x", "file_path": "a"}, False),
    ("Edit(src/**)", "MultiEdit", {"file_path": "src/out/x"}, False),
    ("Edit(**)", "Write", {"content": "x"}, False),
]


@pytest.mark.parametrize(("rule", "tool", "tool_input", "expected"), INPUTS)
def test_the_checked_path_is_the_one_that_the_tool_opens(
    rule, tool, tool_input, *, expected
):
    """By the tool's own key and patterns; no path that the client would change."""
    assert granted(rule, tool=tool, **tool_input) is expected


def test_an_impossible_path_is_not_granted():
    """An exception would raise a dialog."""

    def broken(path):
        path.encode()
        return path

    call = Call("Read", {"file_path": "\ud800"}, PROJECT, broken)
    assert is_granted(["Read(**)"], call) is False
