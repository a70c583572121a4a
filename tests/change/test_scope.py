"""The words of a command, as a scope: what git diff users expect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.change.scope import Scope, parse_scope
from bridge.errors import InvalidRequest

HERE = {"project": "/p/app", "folder": "/p/app/src"}


@pytest.mark.parametrize(
    ("words", "staged", "expected"),
    [
        ([], False, Scope()),
        ([], True, Scope("staged")),
        (["--"], False, Scope()),
        (["main", "--"], False, Scope(base="main")),
        (["main", "--"], True, Scope("staged", base="main")),
        (["a..b", "--"], False, Scope("commits", "a", "b")),
        (["a...b", "--"], False, Scope("commits", "a", "b", from_fork=True)),
        (["a..", "--"], False, Scope("commits", "a", "HEAD")),
        (["...b", "--"], False, Scope("commits", "HEAD", "b", from_fork=True)),
        (["--", "x.py", "../y"], False, Scope(paths=("src/x.py", "y"))),
        (["main", "--", "."], False, Scope(base="main", paths=("src",))),
        (["/p/app"], False, Scope(paths=("",))),
        (["./main"], False, Scope(paths=("src/main",))),
        ([".."], False, Scope(paths=("",))),
        (["main"], False, Scope(paths=("src/main",), undecided="main")),
        (["a..b", "c"], False, Scope(paths=("src/a..b", "src/c"), undecided="a..b")),
    ],
)
def test_words_name_a_scope(words, staged, expected):
    assert parse_scope(words, staged=staged, **HERE) == expected


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        (Scope(), "what is not committed"),
        (Scope("staged", paths=("src", "")), "what is staged, in src, ."),
        (Scope(base="v1"), "what is not committed since v1"),
        (Scope(base="0123456789" * 4), "what is not committed since 012345678901"),
        (Scope("commits", "a", "b", from_fork=True), "a...b"),
        (Scope("files", paths=("x\n.py",)), "whole files, in x .py"),
    ],
)
def test_a_scope_says_what_it_is(scope, words):
    """On one line, whatever a file is called."""
    assert str(scope) == words


@pytest.mark.parametrize(
    ("words", "staged", "message"),
    [
        (["../../x"], False, "'../../x' is not in the project /p/app"),
        (["--", "/etc/passwd"], False, "'/etc/passwd' is not in the project /p/app"),
        (["/p/application"], False, "'/p/application' is not in the project /p/app"),
        ([""], False, "'' is neither a revision nor a path"),
        (["--", "a\0"], False, r"'a\x00' is neither a revision nor a path"),
        (["a", "b", "--"], False, "'b': there is a revision before it already"),
        (["a..b", "c", "--"], False, "'c': there is a revision before it already"),
        (["a..b", "--"], True, "'a..b': nothing is staged from one commit to another"),
        (["x"] * 1001, False, "1,001 paths; 1,000 is the limit"),
    ],
)
def test_error_words_that_name_no_scope(words, staged, message):
    with pytest.raises(InvalidRequest) as failed:
        parse_scope(words, staged=staged, **HERE)

    assert failed.value.what == message


@given(st.lists(st.text(max_size=12), max_size=4), st.booleans())
def test_no_words_lead_out_of_the_project(words, staged):
    """Whatever is typed, it is refused or stays below the project."""
    try:
        scope = parse_scope(words, staged=staged, **HERE)
    except InvalidRequest:
        return

    for path in scope.paths:
        assert not path.startswith("/")
        assert ".." not in path.split("/")


def test_a_path_covers_what_is_below_it():
    scope = Scope(paths=("src", "a/b.py"))

    covered, others = (b"src", b"src/x", b"a/b.py"), (b"srcs", b"a/b.pyc", b"a")
    assert all(map(scope.covers, covered))
    assert not any(map(scope.covers, others))
    assert scope.reaches(b"a")
    assert not scope.reaches(b"b")
