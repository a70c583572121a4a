import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from bridge.hints import place
from bridge.policy.condition import ConditionError, evaluate
from bridge.policy.condition_compiler import (
    EVENT_NAMES,
    MAX_DEPTH,
    MAX_LENGTH,
    InvalidCondition,
    compile_condition,
    shadowed,
)
from bridge.policy.condition_text import compile_text

KNOWN = {*EVENT_NAMES, "validation_model", "task"}


def compiled(source: str, *, is_flow: bool = False) -> object:
    return compile_condition(source, is_flow=is_flow).code


def refused(source: str, *, is_flow: bool = False) -> str:
    with pytest.raises(InvalidCondition) as caught:
        compile_condition(source, known=KNOWN, is_flow=is_flow)
    return str(caught.value)


def test_a_condition_becomes_lists():
    source = 'tool_name == "Bash" and not command.startswith("git")'

    assert compiled(source) == [
        "and", 0,
        ["compare", 0, ["name", 0, "tool_name"], "==", "Bash"],
        ["not", 24, ["startswith", 28, ["name", 28, "command"], "git"]],
    ]  # fmt: skip


def test_a_condition_says_which_names_it_asks_for():
    found = compile_condition("a.b == c and a")

    assert found.names == (("a", 0), ("c", 7), ("a", 13))


SPELLINGS = [
    ("a && b || c", "a and b or c"),
    ("!a", "not a"),
    ("!a.b && c", "not a.b and c"),
    ("a!=b", "a != b"),
    ("!a == b", "(not a) == b"),
    ("!(a == b)", "not (a == b)"),
    ('a contains "x"', '"x" in a'),
    ('!a contains "x" && b', 'not ("x" in a) and b'),
    ("a == true || b == null", "a == True or b == None"),
    ("${{ a and b }}", "a and b"),
    ("a and\n  b", "a and b"),
    ("a\tand\r\nb", "a and b"),
    ("steps.run-tests.ok", 'steps["run-tests"]["ok"]'),
    ("event.from.is", 'event["from"]["is"]'),
    ("len(a)", "a.len()"),
    ('startswith(a, ("x", "y"))', 'a.startswith(["x", "y"])'),
    ('a in ("x", "y")', 'a in ["x", "y"]'),
    ('a in {"x", "y"}', 'a in ["x", "y"]'),
    ('"x" in command.words()', '"x" in words(command)'),
]


@pytest.mark.parametrize(("spelling", "python"), SPELLINGS)
def test_spellings_compile_to_the_same_lists(spelling, python):
    def without_places(code):
        if not isinstance(code, list):
            return code
        return [code[0], *(without_places(part) for part in code[2:])]

    assert without_places(compiled(spelling)) == without_places(compiled(python))


FLOW_WORDS = [
    ("passed", "passed"),
    ("no issues", "not issues"),
    ("all success && !any failed", "all.success and not any.failed"),
    ("{scan.found} > 0", "scan.found > 0"),
    ('{report} contains "bad"', '"bad" in report'),
]


@pytest.mark.parametrize(("flow", "python"), FLOW_WORDS)
def test_flows_have_words_of_their_own(flow, python):
    scope = {"issues": True, "all": {"success": True}, "report": "a bad one"}

    said = evaluate(compiled(flow, is_flow=True), scope)
    assert said == evaluate(compiled(python), scope)


PROBLEMS = [
    ("", "1:1: a condition is needed here"),
    ("${{ }}", "1:7: a condition is needed here"),
    ("task = 1", "1:6: '=': a condition compares with =="),
    ("task === 1", "1:6: '===': write =="),
    ("depth + 1 > 2", "1:7: '+': conditions have no arithmetic"),
    ("len(task", "1:4: this ( is never closed"),
    ("(task]", "1:6: expected ) to close ("),
    ('task or\n"abc', '2:1: this " is never closed'),
    ("tool_nam == 1", "1:1: unknown name 'tool_nam'; did you mean 'tool_name'?"),
    ("zz", "1:1: unknown name 'zz'; a variable that nobody declares is variables.zz"),
    (
        'task and command.startwith("a")',
        "1:10: unknown function 'startwith'; did you mean 'startswith'?",
    ),
    ("len(task, 1)", "1:1: 'len' takes 1 arguments, not 2"),
    ("len == 1", "1:1: 'len' is a function: write len(…)"),
    (
        "task task",
        "1:6: nothing joins task and task: write and, or, ==, in … between them",
    ),
    ("task is depth", "1:9: 'is' is for None, true and false: write =="),
    ("lambda: 1", "1:1: a condition has no 'lambda'"),
    ("f'a'", "1:1: a text has no 'f' before it"),
    ("task[0:1]", "1:6: one item only: value[0]"),
    ("task, 1", "1:1: write a list: [a, b]"),
    ("task and", "1:9: something is missing at the end"),
    ("task and and depth", "1:10: this is no condition from here on"),
    ("task\x00", "1:5: a condition has no '\\x00'"),
    ("1e999", "1:1: this number is too large"),
    ("${{ a }} and ${{ b }}", "1:14: a condition has one ${{ }}, around all of it"),
]


@pytest.mark.parametrize(("source", "problem"), PROBLEMS)
def test_error_is_shown_at_its_place(source, problem):
    line, column = map(int, problem.split(":")[:2])
    shown = f"    {source.splitlines()[line - 1] if source else ''}"
    pointer = " " * (column + 3) + "^"

    assert refused(source) == f"{problem}\n{shown}\n{pointer}"


def test_error_in_free_text_of_a_flow_names_the_way():
    assert refused("the code is good", is_flow=True) == (
        "1:5: nothing joins the and code: free text cannot be decided here. Let an "
        "agent answer yes or no before this, and test its answer\n"
        "    the code is good\n        ^"
    )


def test_every_problem_is_found_at_once():
    with pytest.raises(InvalidCondition) as caught:
        compile_condition("tool_nam == 1 and lenn(task) is depth", known=KNOWN)

    assert [problem.at for problem in caught.value.problems] == [0, 18, 32]


HOSTILE = [
    "(" * 3_000,
    "(" * 1_900 + "a" + ")" * 1_900,
    "[" * 1_900 + "]" * 1_900,
    "not " * 990 + "a",
    "!" * 3_000 + "a",
    "-" * 3_000 + "1",
    "a" + ".b" * 1_900,
    "a" + "[a" * 900 + "]" * 900,
    "a if a else " * 300 + "a",
    "a and (" * 500 + "a" + ")" * 500,
    "a" * (MAX_LENGTH + 1),
    "'" * 3_999,
    "\ud800",
    "'\ud800'",
]


@pytest.mark.parametrize("source", HOSTILE, ids=lambda source: ascii(source[:12]))
def test_error_hostile_source_is_refused(source):
    with pytest.raises(InvalidCondition) as caught:
        compile_condition(source)

    assert len(str(caught.value)) < 500


def test_as_deep_as_allowed_is_evaluated():
    source = "not " * MAX_DEPTH + "a"

    assert evaluate(compiled(source), {}) is False


def test_long_lists_and_chains_are_no_depth():
    names = ", ".join(f'"tool{number}"' for number in range(300))

    assert evaluate(compiled(f"t in [{names}]"), {"t": "tool299"}) is True
    assert evaluate(compiled(" or ".join(["a"] * 500)), {"a": 1}) == 1


@pytest.mark.parametrize("name", EVENT_NAMES)
def test_error_variables_named_as_the_event_are_found(name):
    assert shadowed(["mine", name]) == [
        f"a condition's {name!r} is the event's: rename the variable"
    ]


def test_error_variables_that_no_condition_can_say_are_found():
    found = shadowed(["len", "true", "and", "task"])

    assert found == [
        "a condition's 'len' is a function: rename the variable",
        "a condition's 'true' is a word of its own: rename the variable",
        "a condition's 'and' is a word of its own: rename the variable",
    ]


def test_places_count_characters_not_bytes():
    with pytest.raises(ConditionError) as caught:
        evaluate(compiled('é == "é" or\nü < 1'), {"ü": "a"})

    assert place('é == "é" or\nü < 1', caught.value.at) == (2, 1)


WORDS = (
    "a b.c and or not in is if else None true == != < <= ( ) [ ] { } , . 'x' \"y\" 1 "
    "-2 1.5 ! && || contains no all passed len startswith get runs words ${{ }} "
    "matches : = + # \n \\ lambda a-b $ `"
)
words = st.sampled_from(WORDS.split(" "))


@settings(max_examples=examples(300), deadline=None)
@given(
    source=st.one_of(
        st.text(max_size=60),
        st.lists(words, max_size=25).map(" ".join),
        st.lists(words, max_size=25).map("".join),
    ),
    is_flow=st.booleans(),
)
def test_any_source_compiles_or_is_refused(*, source, is_flow):
    """And what compiles survives JSON, and has a value or an error of its own."""
    try:
        found = compile_condition(source, is_flow=is_flow)
    except InvalidCondition as error:
        places = [problem.at for problem in error.problems]
        assert places
        assert 0 <= min(places) <= max(places) <= len(source)
        return

    code = json.loads(json.dumps(found.code))
    assert code == found.code
    shell = {"runs": lambda *_: True, "words": lambda _: []}
    try:
        evaluate(code, {"a": "text", "b": {"c": 1}, "x": [1]}, shell)
    except ConditionError as error:
        assert 0 <= error.at <= len(source)  # noqa: PT017 - or it has a value


# Texts with conditions in them


SCOPE: dict[str, Any] = {"inputs": {"id": "#4", "n": 3, "on": True, "list": [1, "é"]}}


TEXTS = [
    ("none: $HOME, }} and {{ x }}", "none: $HOME, }} and {{ x }}"),
    ("", ""),
    ("${{ inputs.n }}", 3),
    (" ${{ inputs.list }}\n", [1, "é"]),
    ("${{ inputs.missing }}", None),
    ("task-${{ inputs.id }}", "task-#4"),
    ("${{ inputs.n }}${{ inputs.on }}", "3true"),
    ("a ${{ inputs.missing }} b", "a  b"),
    ("l: ${{ inputs.list }}", 'l: [1, "\\u00e9"]'),
    ("x${{ '}}' if inputs.on else \"${{\" }}y", "x}}y"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_values_are_put_into_a_text(text, expected):
    found = evaluate(compile_text(text).code, SCOPE)

    assert found == expected
    assert type(found) is type(expected)


def test_what_is_put_in_is_never_read_again():
    scope = {"a": "${{ b }} {{ c }}"}

    assert evaluate(compile_text("<${{ a }}>").code, scope) == "<${{ b }} {{ c }}>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "one\ntask-${{ a + 1 }} and ${{ len() }}",
            "2:12: '+': conditions have no arithmetic\n"
            "    task-${{ a + 1 }} and ${{ len() }}\n               ^\n"
            "2:27: 'len' takes 1 arguments, not 0\n"
            "    task-${{ a + 1 }} and ${{ len() }}\n" + 30 * " " + "^",
        ),
        ("task-${{ a", "1:6: this ${{ is not closed by }}\n    task-${{ a\n         ^"),
    ],
)
def test_error_shows_every_place_in_the_whole_text(text, message):
    with pytest.raises(InvalidCondition) as caught:
        compile_text(text)

    assert str(caught.value) == message


def test_a_long_text_may_hold_short_expressions():
    text = "x" * 100_000 + "${{ a }}"

    assert evaluate(compile_text(text).code, {"a": "!"})[-2:] == "x!"


def test_error_a_long_text_that_is_never_closed_ends():
    with pytest.raises(InvalidCondition):
        compile_text("${{ a" * 100_000)
