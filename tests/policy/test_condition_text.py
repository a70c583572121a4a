from __future__ import annotations

from typing import Any

import pytest

from bridge.policy.condition import evaluate
from bridge.policy.condition_problem import InvalidCondition
from bridge.policy.condition_text import compile_text

SCOPE: dict[str, Any] = {"inputs": {"id": "#4", "n": 3, "on": True, "list": [1, "é"]}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
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
    ],
)  # fmt: skip
def test_values_are_put_into_a_text(text: str, expected: object) -> None:
    found = evaluate(compile_text(text).code, SCOPE)

    assert found == expected
    assert type(found) is type(expected)


def test_what_is_put_in_is_never_read_again() -> None:
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
        (
            "task-${{ a",
            "1:6: this ${{ is not closed by }}\n    task-${{ a\n         ^",
        ),
    ],
)
def test_error_shows_every_place_in_the_whole_text(text: str, message: str) -> None:
    with pytest.raises(InvalidCondition) as caught:
        compile_text(text)

    assert str(caught.value) == message


def test_a_long_text_may_hold_short_expressions() -> None:
    text = "x" * 100_000 + "${{ a }}"

    assert evaluate(compile_text(text).code, {"a": "!"})[-2:] == "x!"


def test_error_a_long_text_that_is_never_closed_ends() -> None:
    with pytest.raises(InvalidCondition):
        compile_text("${{ a" * 100_000)
