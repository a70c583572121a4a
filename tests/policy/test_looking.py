"""Which commands only look."""

import os
import posixpath

import pytest

from bridge.policy.looking import Sight, only_looks
from bridge.policy.permissions import Call, is_granted, looks


def is_inside(path: str) -> bool:
    return not posixpath.normpath(path).startswith(("/", ".."))


LOOKS = [
    "ls",
    "pwd",
    "ls -la src | head -20",
    "cd src && grep -rn 'def foo' . 2>/dev/null",
    "grep -c x a.py 2>&1 || echo none",
    "find . -name '*.py' -type f\nwc -l a.py; true",
    "tail -n 5 a.log",
    "rg -n --hidden foo src",
    " \tls 2>&1 \n",
    "cat 'a b' 2>&1 | head -3",
    r"cat a\\ 2>&1",
]


@pytest.mark.parametrize("command", LOOKS)
def test_these_only_look(command):
    assert only_looks(command, Sight(is_inside))


DOES_NOT_ONLY_LOOK = [
    "",
    "ls; rm x",
    "ls | xargs rm",
    "ls\nrm x",
    "ls & rm x",
    "cat a > b",
    "cat a 2>b",
    # What stands in quotes, or behind a backslash, is no redirection.
    r"cat a\ 2>&1 b",
    r"rg x a\ 2>&1 --pre=./evil.sh",
    r"find . a\ 2>/dev/null -fprintf b c",
    r"cat 'a 2>&1 b'",
    'cat "a 2>/dev/null b"',
    "cat \"a 2>&1 'b",
    # Nor does it end at what no shell takes for a space.
    "cat a\u20032>&1",
    "cat a\x0b2>&1",
    "cat a 2>/dev/null\u2003/b",
    "tail -1f a",
    "tail -f a",
    "cat < /etc/passwd",
    "cat /etc/passwd",
    "cat ../a",
    # The folder changes before the rest runs, or may.
    "cd && cat a",
    "cd - && cat a",
    "cd ~ && cat a",
    "cd +1 && cat a",
    "cd .. && cat a",
    "cd src && cat ../../a",
    "cd src; cat ../a",
    "cd src || cat ../a",
    "cat a | cd src && cat ../a",
    "cd src | cat ../a",
    "cd nowhere/nowhere | cat ../../a",
    "ls && cd src | cat ../a",
    "true || cd src && cat ../a",
    "cd src && cat a; cat ../a",
    # What follows the links that it finds.
    "grep -R x .",
    "diff -r a b",
    "ls $(rm x)",
    "ls `rm x`",
    "ls # ; rm x",
    r"ls \; rm x",
    'ls "x; rm x',
    'echo "a|b"',
    "find . -delete",
    r"find . -exec rm {} \;",
    "find . -fprint x",
    "rg --pre=x foo",
    "grep -f /etc/passwd x",
    "sort -o a b",
    "uniq a b",
    "git log",
    "sed -i s/a/b/ c",
    "PAGER=x ls",
    "./ls",
]


@pytest.mark.parametrize("command", DOES_NOT_ONLY_LOOK)
def test_these_do_not(command):
    """Nor does what cannot be told for sure."""
    assert not only_looks(command, Sight(is_inside))


@pytest.mark.parametrize(
    "command",
    [
        "cd src && cat ../a",
        "cd src && cd ../lib && cat ../a",
        "pwd && cd 'src' && cat ../a | head -3 && ls ..",
        'cd "src" && diff --no-dereference -u a ../b',
    ],
)
def test_a_path_is_judged_where_its_command_runs(command):
    """Behind `cd`, `..` is the project still."""
    assert only_looks(command, Sight(is_inside))


@pytest.mark.parametrize(
    "odd", ["\u2003", "\x0b", "\x0c", "\x1c", "\x1f", "\x85", "\xa0"]
)
@pytest.mark.parametrize("form", ["cat k{}", "{}cat k", "cat k{} | wc", "cd k{} && ls"])
def test_what_no_shell_takes_for_a_space_is_part_of_a_name(odd, form):
    """A link whose name ends with it leads elsewhere."""
    asked: list[str] = []

    def note(path):
        asked.append(path)
        return path != f"k{odd}"

    assert not only_looks(form.format(odd), Sight(note))


def test_a_shell_takes_two_dots_for_what_the_name_says(tmp_path):
    """`cd link/..` goes back to the link's folder, whatever the link leads to."""
    tree = tmp_path / "outer" / "tree"
    (tree / "deep" / "er").mkdir(parents=True)
    (tree / "link").symlink_to("deep/er")
    (tmp_path / "secret").touch()

    def call(command):
        def resolve(path):
            return os.path.realpath(tree / path)

        return Call("Bash", {"command": command}, str(tree), resolve)

    assert looks(call("cd link && ls"))
    assert looks(call("cd link/.. && ls deep"))
    assert not looks(call("cd link/../.. && cat ../secret"))
    assert not looks(call("cd link && cd ../.. && ls"))
    rules = ["Bash(pytest [-q])"]
    assert is_granted(rules, call("cd deep/../link && pytest -q"))
    assert not is_granted(rules, call("cd link/../.. && pytest -q"))


W = "/state/worktrees/run/dev"
GIT = [
    (f"git -C {W} status", True),
    (f"git -C '{W}' diff --stat -- src", True),
    (f"cd {W} && git log -12 --oneline | head -3", True),
    (f"cd {W} && git show HEAD:a.py", True),
    ("git status", False),
    (f"cd {W}; git diff", False),
    (f"cd {W}/src && git status", False),
    (f"git -C {W}/src diff", False),
    (f"git -C {W} -C ../other diff", False),
    (f"git -C {W} --git-dir=/elsewhere diff", False),
    (f"git -C {W} --work-tree=/ diff", False),
    (f"git -C {W} -c core.fsmonitor=x status", False),
    (f"git -C {W} diff --no-index /etc/passwd", False),
    (f"git -C {W} diff /etc/passwd a", False),
    (f"git -C {W} diff ../other/a", False),
    (f"git -C {W} diff --output=a.txt", False),
    (f"git -C {W} diff --ext-diff", False),
    (f"git -C {W} diff -O../order", False),
    (f"git -C {W} commit -m x", False),
    (f"GIT_DIR=/elsewhere git -C {W} diff", False),
    (f"git -C {W} diff *.py", False),
]


@pytest.mark.parametrize(("command", "may"), GIT)
def test_git_looks_at_the_root_of_a_worktree(command, may):
    """It obeys the configuration of wherever it starts."""

    def call(*, is_tree):
        def resolve(path):
            return posixpath.normpath(posixpath.join("/project", path))

        given = {"command": command}
        return Call("Bash", given, W, resolve, main="/project", is_tree=is_tree)

    assert looks(call(is_tree=True)) is may
    assert not looks(call(is_tree=False))
