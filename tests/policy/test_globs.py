"""The patterns of rules and of searches: what each covers, and what not."""

from __future__ import annotations

import pytest
from counted import at_most

from bridge.policy.globs import covers, finds


@pytest.mark.parametrize(
    ("pattern", "path", "is_yes"),
    [
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
    ],
)
def test_rules_and_searches_agree(pattern: str, path: str, *, is_yes: bool) -> None:
    """A model that searches and a person who writes a rule learn one language."""
    assert covers(pattern, path) is is_yes
    assert finds(pattern, path) is is_yes


@pytest.mark.parametrize(
    ("pattern", "path", "is_yes"),
    [
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
    ],
)
def test_what_only_a_search_knows(pattern: str, path: str, *, is_yes: bool) -> None:
    """A name at any depth, and sets of letters, as in a shell."""
    assert finds(pattern, path) is is_yes


def test_a_bracket_in_a_rule_is_itself() -> None:
    """Folders of routes are called so, and a rule for one is none for others."""
    assert covers("app/[id]/*", "app/[id]/page.tsx")
    assert not covers("app/[id]/*", "app/i/page.tsx")
    assert covers("[id]", "[id]")


@pytest.mark.parametrize("pattern", ["*a" * 40 + "x", "**/*a/" * 20 + "x", "[a]*" * 50])
def test_many_stars_are_little_work(pattern: str) -> None:
    """The pattern of a search is a model's, and so may be the names it made."""
    with at_most(lines=1_000_000):
        for path in ("a/" * 600 + "b", "a" * 1200 + "/"):
            assert not finds(pattern, path)
