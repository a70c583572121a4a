"""Which paths the patterns of rules and of searches cover."""

import pytest
from counted import at_most

from bridge.policy.globs import covers, finds

BOTH = [
    ("src/*.py", "src/y.py", True),
    ("src/*.py", "src/a/y.py", False),
    ("src/**/test.py", "src/test.py", True),
    ("src/**/test.py", "src/a/b/test.py", True),
    ("src/**/test.py", "src/mytest.py", False),
    ("src/**", "src/a/y.py", True),
    ("src/**", "src", True),
    ("**/src/*", "a/src/y", True),
    ("**/src/*", "mysrc/y", False),
    ("a?c/x", "abc/x", True),
    ("a?c", "a/c", False),
]


@pytest.mark.parametrize(("pattern", "path", "expected"), BOTH)
def test_rules_and_searches_agree(pattern, path, *, expected):
    """Models that search and people who write rules use one language."""
    assert covers(pattern, path) is expected
    assert finds(pattern, path) is expected


SEARCHES = [
    ("*.py", "y.py", True),
    ("*.py", "src/a/y.py", True),
    ("**", "src/a/y.py", True),
    ("./*.py", "y.py", True),
    ("./*.py", "src/y.py", False),
    ("/src/*.py", "src/y.py", True),
    ("*.[ch]", "src/y.c", True),
    ("a[!]", "a[!]", True),
    ("*.[ch]", "src/y.x", False),
    ("src/[!a]/y", "src/b/y", True),
    ("src/[!a]/y", "src/a/y", False),
    ("src[!a]y", "src/y", False),
    ("[]]", "]", True),
    ("[", "[", True),
    ("src/[ab", "src/[ab", True),
]


@pytest.mark.parametrize(("pattern", "path", "expected"), SEARCHES)
def test_what_only_a_search_understands(pattern, path, *, expected):
    """A name at any depth, and sets of characters, as in a shell."""
    assert finds(pattern, path) is expected


def test_a_bracket_in_a_rule_stands_for_itself():
    """Web frameworks have such folders; a rule for one must not cover another."""
    assert covers("app/[id]/*", "app/[id]/page.tsx")
    assert not covers("app/[id]/*", "app/i/page.tsx")
    assert covers("[id]", "[id]")


@pytest.mark.parametrize("pattern", ["*a" * 40 + "x", "**/*a/" * 20 + "x", "[a]*" * 50])
def test_many_stars_take_little_work(pattern):
    """A model writes the pattern, and may have made the files."""
    with at_most(lines=1_000_000):
        for path in ("a/" * 600 + "b", "a" * 1200 + "/"):
            assert not finds(pattern, path)
