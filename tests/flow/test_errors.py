"""What cannot be parsed: every problem at its place, in the language's own words."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

from bridge.flow.parser import parse_flow
from bridge.flow.problems import MAX_PROBLEMS, InvalidFlow

# Each a flow, and its problems below.
CASES = (Path(__file__).parent / "samples" / "errors.txt").read_text().split("\n\n")


def refused(source: str) -> str:
    """Every problem of a flow, as it is shown."""
    with pytest.raises(InvalidFlow) as caught:
        parse_flow(source, file="x.flow")
    return str(caught.value)


def found(source: str) -> list[str]:
    """Place and message of every problem."""
    return re.findall(r"^x\.flow:(.*)$", refused(source), re.M)


def test_error_shows_file_line_column_and_caret():
    """Mistakes that have nothing to do with each other are found in one run."""
    flow = """\
        Explore:"Look":seen ->
        [Plan:"Plan {seen}" Plan:"Plan differently"]
        -> (if the tests look good)~> fixer
        """
    assert refused(dedent(flow)) == dedent(
        """\
        x.flow:2:21: expected -> or || between two steps, not Plan
            [Plan:"Plan {seen}" Plan:"Plan differently"]
                                ^
        x.flow:3:12: nothing joins the and tests: free text cannot be decided here. \
Let an agent answer yes or no before this, and test its answer
            -> (if the tests look good)~> fixer
                       ^"""
    )


@pytest.mark.parametrize("case", CASES, ids=[case.split("\n")[0] for case in CASES])
def test_error(case):
    """Each mistake is named once, where it is, without echoes."""
    source, *problems = re.split("^    ", case, flags=re.M)

    assert found(source[:-1]) == [problem.rstrip("\n") for problem in problems]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("", "1:1: expected a step, the flow ends here"),
        ('a:"\0"', "1:4: a flow has no character U+0000"),
        ('a:"\ud800"', "1:4: a flow has no character U+D800"),
        ('a:"\x1b[31m"', "1:4: a flow has no character U+001B"),
        (
            "---\nname: \x85 1\nnme: 1\n---\na",
            "3:1: nme: a flow has no such field; did you mean 'name'?",
        ),
        ('a:"x\r\ny" -> b\r\nc', "3:1: expected -> or || between two steps, not c"),
    ],
)
def test_error_of_odd_characters(source, problem):
    assert found(source) == [problem]


def test_error_too_deep():
    """A bomb of brackets is no reason to go as deep."""
    for source in ("[" * 60 + "a" + "]" * 60, "[" * 100_000 + "a" + "]" * 100_000):
        assert found(source) == ["1:51: brackets go 50 deep at most"]


def test_error_too_many():
    """Nobody reads a thousand of them."""
    assert len(found("a " * 1000)) == MAX_PROBLEMS


@pytest.mark.slow
def test_error_too_long(monkeypatch):
    """Whoever gives ten megabytes gets an answer before memory is full."""
    expected = ["1:750001: a flow has 500,000 words and signs at most"]
    assert found("a->" * 400_000) == expected
    # The limit holds for what is wrong, too.
    monkeypatch.setattr("bridge.flow.lexer._MAX_TOKENS", 5_000)
    assert len(found('a:"":v' + ":out" * 2_500)) == 2


def test_an_error_has_its_places():
    with pytest.raises(InvalidFlow) as caught:
        parse_flow("a\n  b", file="x.flow")

    (problem,) = caught.value.problems
    assert (problem.line, problem.column, problem.level) == (2, 3, "error")
    assert caught.value.code == "invalid_flow"


@pytest.mark.parametrize(
    "piece", ["{n}{n}", "{n} {{a}}{n}{{a}}"], ids=["text", "names"]
)
def test_error_constants_that_grow(piece):
    """Each twice what the one before it is: 775 bytes would fill the memory."""
    lines = [f'$C{at + 1} := "{piece.format(n=f"$C{at}")}"' for at in range(40)]
    source = "\n".join(['$C0 := "{a}x"', *lines, "a -> b:$C40"])

    ((place, message),) = [each.split(": ") for each in found(source)]

    assert place.endswith(f":{len(lines[21]) - len(piece.format(n='$C21')) - 1}")
    assert message == "constants add up to over 10,000,000 characters"
