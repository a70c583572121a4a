"""Globs in conditions cover whole texts, of any shape."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from bridge.policy.condition_globs import matches

GLOBS = [
    ("*", "", True), ("", "", True), ("", "a", False), ("abc", "abc", True),
    ("git push*", "git push --force\nx", True), ("*.py", "a/b.py", True),
    ("*.py", "a.pyc", False), ("src/**/*.py", "src/a.py", True),
    ("src/**/*.py", "src/a/b/c.py", True), ("src/**/*.py", "srcs/a.py", False),
    ("**/test_*", "test_a", True), ("**/test_*", "a/test_b", True),
    ("**/test_*", "atest_b", False), ("a?c", "abc", True), ("a?c", "ac", False),
    ("a?c", "a\nc", True), ("[ab]", "a", False), ("[ab]", "[ab]", True),
    ("*a*b*c*", "xxaxxbxxcxx", True), ("*a*b*c*", "cba", False),
    ("*ab", "aab", True), ("a**b", "axxb", True), ("(a|b)+", "(a|b)+", True),
    ("\\?", "\\x", True), ("*b", "b", True), ("a*a", "a", False),
]  # fmt: skip


@pytest.mark.parametrize(("glob", "text", "expected"), GLOBS)
def test_globs_cover_whole_texts(glob, text, *, expected):
    assert matches(text, glob) is expected


def test_a_glob_of_many_stars_ends():
    text = "a" * 20_000

    assert matches(text, "*a" * 200 + "*b") is False
    assert matches("a/" * 10_000, "**/a/" * 100 + "b") is False


letters = st.text("ab/*?", max_size=8)


@settings(max_examples=examples(500), deadline=None)
@given(letters, letters)
def test_globs_are_as_a_slow_reader_has_them(glob, text):
    def covers(at, place):
        if at == len(glob):
            return place == len(text)
        is_start = at == 0 or glob[at - 1] == "/"
        if is_start and glob.startswith("**/", at):
            ends = [end + 1 for end in range(place, len(text)) if text[end] == "/"]
            return any(covers(at + 3, end) for end in [place, *ends])
        if glob[at] == "*":
            return any(covers(at + 1, end) for end in range(place, len(text) + 1))
        here = place < len(text) and glob[at] in {"?", text[place]}
        return here and covers(at + 1, place + 1)

    assert matches(text, glob) is covers(0, 0)
