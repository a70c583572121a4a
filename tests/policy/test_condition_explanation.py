from __future__ import annotations

import pytest

from bridge.policy.condition import MAY
from bridge.policy.condition_compiler import compile_condition
from bridge.policy.condition_explanation import explain, show_parts


def test_each_part_is_shown_with_its_value() -> None:
    source = 'tool_name == "Bash" and\n  ("pytest" in command or len(cwd) > depth)'
    scope = {"tool_name": "Bash", "command": "ls -l", "depth": "x"}

    assert show_parts(explain(compile_condition(source), scope), width=80) == (
        'tool_name == "Bash" and ("pytest" in command or len(cwd) > …  no\n'
        '  tool_name == "Bash"                                         yes\n'
        '    tool_name                                                 "Bash"\n'
        '  "pytest" in command or len(cwd) > depth                     no\n'
        '    "pytest" in command                                       no\n'
        '      command                                                 "ls -l"\n'
        "    len(cwd) > depth                                          no\n"
        "      len(cwd)                                                null\n"
        "        cwd                                                   null\n"
        '      depth                                                   "x"'
    )


def test_in_a_pipe_nothing_is_cut() -> None:
    source = f'command == "{"x" * 500}"'

    shown = show_parts(explain(compile_condition(source), {"command": "y" * 500}))

    first, second = shown.splitlines()
    assert first == f"{source}  no"
    assert second.split() == ["command", f'"{"y" * 500}"']


def test_parts_that_the_condition_never_reaches_are_shown_too() -> None:
    parts = explain(compile_condition("a and b < 1"), {"a": False, "b": "x"})

    assert [(part.text, str(part)) for part in parts] == [
        ("a and b < 1", "no"),
        ("a", "no"),
        ("b < 1", "error: '<' cannot compare a text with a number"),
        ("b", '"x"'),
    ]


def test_a_part_that_depends_on_what_cannot_be_read_says_so() -> None:
    condition = compile_condition('runs(command, "pytest")')
    scope = {"command": "pytest $X"}

    whole, _ = explain(condition, scope, {"runs": lambda *_: MAY})

    assert str(whole) == "may: it depends on what cannot be read"


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("!a && b.c-d[0]", ["!a && b.c-d[0]", "!a", "a", "b.c-d[0]", "b.c-d", "b"]),
        ("${{ (a) }}", ["a"]),
        ("'é' in é.ü", ["'é' in é.ü", "é.ü", "é"]),
        ('a contains "x"', ['a contains "x"', "a"]),
        ("1", []),
    ],
)
def test_parts_are_the_words_of_the_source(source: str, texts: list[str]) -> None:
    assert [part.text for part in explain(compile_condition(source), {})] == texts
