"""Which commands only look."""

from __future__ import annotations

import pytest

from bridge.policy.looking import only_looks


def is_inside(path: str) -> bool:
    return not path.startswith(("/", ".."))


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "pwd",
        "ls -la src | head -20",
        "cd src && grep -rn 'def foo' . 2>/dev/null",
        "grep -c x a.py 2>&1 || echo none",
        "find . -name '*.py' -type f\nwc -l a.py; true",
        "tail -n 5 a.log",
        "rg -n --hidden foo src",
    ],
)
def test_these_only_look(command):
    assert only_looks(command, is_inside)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "ls; rm x",
        "ls && touch x",
        "ls | xargs rm",
        "ls\nrm x",
        "ls & rm x",
        "cat a > b",
        "cat a 2>b",
        "cat < /etc/passwd",
        "cat /etc/passwd",
        "cat ../a",
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
    ],
)
def test_these_do_not(command):
    """Nor does what cannot be told for sure."""
    assert not only_looks(command, is_inside)
