from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.policy.condition import ConditionError, evaluate
from bridge.policy.condition_compiler import (
    EVENT_NAMES,
    MAX_DEPTH,
    MAX_LENGTH,
    compile_condition,
)
from bridge.policy.condition_problem import InvalidCondition, place
from bridge.policy.variable_names import shadowed

KNOWN = {*EVENT_NAMES, "validation_model", "task"}


def compiled(source: str, *, is_flow: bool = False) -> object:
    return compile_condition(source, is_flow=is_flow).code


def refused(source: str, *, is_flow: bool = False) -> str:
    with pytest.raises(InvalidCondition) as caught:
        compile_condition(source, known=KNOWN, is_flow=is_flow)
    return str(caught.value)


def test_a_condition_becomes_lists() -> None:
    source = 'tool_name == "Bash" and not command.startswith("git")'

    assert compiled(source) == [
        "and", 0,
        ["compare", 0, ["name", 0, "tool_name"], "==", "Bash"],
        ["not", 24, ["startswith", 28, ["name", 28, "command"], "git"]],
    ]  # fmt: skip


def test_a_condition_says_which_names_it_asks_for() -> None:
    found = compile_condition("a.b == c and a")

    assert found.names == (("a", 0), ("c", 7), ("a", 13))


@pytest.mark.parametrize(
    ("spelling", "python"),
    [
        ("a && b || c", "a and b or c"),
        ("!a", "not a"),
        ("!a.b && c", "not a.b and c"),
        ("!a == b", "(not a) == b"),
        ("!(a == b)", "not (a == b)"),
        ("a!=b", "a != b"),
        ('a contains "x"', '"x" in a'),
        ('!a contains "x" && b', 'not ("x" in a) and b'),
        ("a == true || b == null", "a == True or b == None"),
        ("${{ a and b }}", "a and b"),
        ("${{a}}", "a"),
        ("a and\n  b", "a and b"),
        ("a\tand\r\nb", "a and b"),
        ("steps.run-tests.ok", 'steps["run-tests"]["ok"]'),
        ("event.from.is", 'event["from"]["is"]'),
        ("len(a)", "a.len()"),
        ('startswith(a, ("x", "y"))', 'a.startswith(["x", "y"])'),
        ('a in ("x", "y")', 'a in ["x", "y"]'),
        ('a in {"x", "y"}', 'a in ["x", "y"]'),
        ('"x" in command.words()', '"x" in words(command)'),
    ],
)
def test_spellings_compile_to_the_same_lists(spelling: str, python: str) -> None:
    def without_places(code: object) -> object:
        if not isinstance(code, list):
            return code
        return [code[0], *(without_places(part) for part in code[2:])]

    assert without_places(compiled(spelling)) == without_places(compiled(python))


@pytest.mark.parametrize(
    ("flow", "python"),
    [
        ("passed", "passed"),
        ("no issues", "not issues"),
        ("all success && !any failed", "all.success and not any.failed"),
        ("{scan.found} > 0", "scan.found > 0"),
        ('{report} contains "bad"', '"bad" in report'),
    ],
)
def test_flows_have_words_of_their_own(flow: str, python: str) -> None:
    scope = {"issues": True, "all": {"success": True}, "report": "a bad one"}

    said = evaluate(compiled(flow, is_flow=True), scope)
    assert said == evaluate(compiled(python), scope)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "1:1: a condition is needed here\n    \n    ^"),
        ("${{ }}", "1:7: a condition is needed here\n    ${{ }}\n          ^"),
        (
            "task = 1",
            "1:6: '=': a condition compares with ==\n    task = 1\n         ^",
        ),
        ("task === 1", "1:6: '===': write ==\n    task === 1\n         ^"),
        (
            "depth + 1 > 2",
            "1:7: '+': conditions have no arithmetic\n    depth + 1 > 2\n          ^",
        ),
        ("len(task", "1:4: this ( is never closed\n    len(task\n       ^"),
        ("(task]", "1:6: expected ) to close (\n    (task]\n         ^"),
        (
            'task or\n"abc',
            '2:1: this " is never closed\n    "abc\n    ^',
        ),
        (
            "tool_nam == 1",
            ("1:1: unknown name 'tool_nam'; did you mean 'tool_name'?\n"
            "    tool_nam == 1\n    ^"),
        ),
        (
            "zzz",
            ("1:1: unknown name 'zzz'; a variable that nobody declares is "
            "variables.zzz\n    zzz\n    ^"),
        ),
        (
            'task and command.startwith("a")',
            ("1:10: unknown function 'startwith'; did you mean 'startswith'?\n"
            '    task and command.startwith("a")\n             ^'),
        ),
        (
            "len(task, 1)",
            "1:1: 'len' takes 1 arguments, not 2\n    len(task, 1)\n    ^",
        ),
        ("len == 1", "1:1: 'len' is a function: write len(…)\n    len == 1\n    ^"),
        (
            "task task",
            ("1:6: nothing joins task and task: write and, or, ==, in … between them\n"
            "    task task\n         ^"),
        ),
        (
            "task is depth",
            ("1:9: 'is' is for None, true and false: write ==\n    task is depth\n"
            "            ^"),
        ),
        ("lambda: 1", "1:1: a condition has no 'lambda'\n    lambda: 1\n    ^"),
        ("f'a'", "1:1: a text has no 'f' before it\n    f'a'\n    ^"),
        ("task[0:1]", "1:6: one item only: value[0]\n    task[0:1]\n         ^"),
        ("(task, 1)", "1:1: write a list: [a, b]\n    (task, 1)\n    ^"),
        ("task, 1", "1:1: write a list: [a, b]\n    task, 1\n    ^"),
        (
            "task and",
            "1:9: something is missing at the end\n    task and\n            ^",
        ),
        (
            "task and and depth",
            ("1:10: this is no condition from here on\n    task and and depth\n"
            "             ^"),
        ),
        ("task\0", "1:5: a condition has no '\\x00'\n    task\0\n        ^"),
        ("1e999", "1:1: this number is too large\n    1e999\n    ^"),
        (
            "${{ task }} and ${{ depth }}",
            ("1:17: a condition has one ${{ }}, around all of it\n"
            "    ${{ task }} and ${{ depth }}\n                    ^"),
        ),
    ],
)  # fmt: skip
def test_error_is_shown_at_its_place(source: str, message: str) -> None:
    assert refused(source) == message


def test_error_in_free_text_of_a_flow_names_the_way() -> None:
    assert refused("the code is good", is_flow=True) == (
        "1:5: nothing joins the and code: free text cannot be decided here. Let an "
        "agent answer yes or no before this, and test its answer\n"
        "    the code is good\n        ^"
    )


def test_every_problem_is_found_at_once() -> None:
    with pytest.raises(InvalidCondition) as caught:
        compile_condition("tool_nam == 1 and lenn(task) is depth", known=KNOWN)

    assert [problem.at for problem in caught.value.problems] == [0, 18, 32]


@pytest.mark.parametrize(
    "source",
    [
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
    ],
    ids=lambda source: source[:12].encode("utf-8", "replace").decode(),
)
def test_error_hostile_source_is_refused(source: str) -> None:
    with pytest.raises(InvalidCondition) as caught:
        compile_condition(source)

    assert len(str(caught.value)) < 500


def test_as_deep_as_allowed_is_evaluated() -> None:
    source = "not " * MAX_DEPTH + "a"

    assert evaluate(compiled(source), {}) is False


def test_long_lists_and_chains_are_no_depth() -> None:
    names = ", ".join(f'"tool{number}"' for number in range(300))

    assert evaluate(compiled(f"t in [{names}]"), {"t": "tool299"}) is True
    assert evaluate(compiled(" or ".join(["a"] * 500)), {"a": 1}) == 1


@pytest.mark.parametrize("name", EVENT_NAMES)
def test_error_variables_named_as_the_event_are_found(name: str) -> None:
    assert shadowed(["mine", name]) == [
        f"a condition's {name!r} is the event's: rename the variable"
    ]


def test_error_variables_that_no_condition_can_say_are_found() -> None:
    found = shadowed(["len", "true", "and", "task"])

    assert found == [
        "a condition's 'len' is a function: rename the variable",
        "a condition's 'true' is a word of its own: rename the variable",
        "a condition's 'and' is a word of its own: rename the variable",
    ]


def test_places_count_characters_not_bytes() -> None:
    with pytest.raises(ConditionError) as caught:
        evaluate(compiled('é == "é" or\nü < 1'), {"ü": "a"})

    assert place('é == "é" or\nü < 1', caught.value.at) == (2, 1)


WORDS = (
    "a b.c and or not in is if else None true == != < <= ( ) [ ] { } , . 'x' \"y\" 1 "
    "-2 1.5 ! && || contains no all passed len startswith get runs words ${{ }} "
    "matches : = + # \n \\ lambda a-b $ `"
)
words = st.sampled_from(WORDS.split(" "))


@settings(max_examples=300, deadline=None)
@given(
    source=st.one_of(
        st.text(max_size=60),
        st.lists(words, max_size=25).map(" ".join),
        st.lists(words, max_size=25).map("".join),
    ),
    is_flow=st.booleans(),
)
def test_any_source_compiles_or_is_refused(*, source: str, is_flow: bool) -> None:
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
