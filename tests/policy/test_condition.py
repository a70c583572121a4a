import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from public_conditions import FLOWS, PUBLIC
from thoroughness import examples

import bridge
from bridge.policy.condition import MAY, ConditionError, decide, evaluate
from bridge.policy.condition_compiler import compile_condition
from bridge.policy.condition_explanation import explain, show_parts

PACKAGE = Path(bridge.__file__).parent


def value(source: str, **scope: Any) -> Any:
    return evaluate(compile_condition(source).code, scope)


class Dotted(dict[str, Any]):
    """A mapping whose fields Python's own `eval` can read as attributes."""

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __missing__(self, name: str) -> Any:
        raise KeyError(name)


def dotted(found: Any) -> Any:
    if isinstance(found, dict):
        return Dotted({key: dotted(inner) for key, inner in found.items()})
    if isinstance(found, list):
        return [dotted(inner) for inner in found]
    return found


# As functions; texts have the methods themselves.
FUNCTIONS = {
    "len": len, "lower": str.lower, "upper": str.upper, "strip": str.strip,
    "startswith": str.startswith, "endswith": str.endswith,
    "true": True, "false": False, "null": None,
}  # fmt: skip


def asked_of_python(source: str, scope: dict[str, Any]) -> Any:
    """What Python's own `eval` says."""
    names = {name: dotted(inner) for name, inner in scope.items()}
    with warnings.catch_warnings():
        # Of `1 is None`, which means here what it says.
        warnings.simplefilter("ignore")
        return eval(f"({source})", {"__builtins__": {}}, FUNCTIONS | names)  # noqa: S307


def test_public_conditions_have_the_expected_truth():
    listed = [(each, False) for each in PUBLIC] + [(each, True) for each in FLOWS]
    for (source, true_for, false_for), is_flow in listed:
        code = compile_condition(source, is_flow=is_flow).code

        assert decide(code, true_for) == "yes", source
        assert source == "true" or decide(code, false_for) == "no", source


def test_public_conditions_are_true_where_python_says_so():
    """Whatever Python can evaluate: our own expectations could be wrong."""
    compared = 0
    for source, *scopes in PUBLIC:
        bare = source.strip().removeprefix("${{").removesuffix("}}").strip()
        for scope in scopes:
            try:
                expected = asked_of_python(bare.replace("\n", " "), scope)
            except Exception:  # noqa: BLE001, S112 - it knows fewer spellings
                continue
            compared += 1
            found = evaluate(compile_condition(source).code, scope)
            assert bool(found) == bool(expected), source

    assert compared > 40


# Sources of every operation, over names of every kind.
atoms = st.sampled_from(
    [
        "t", "u", "n", "z", "f", "m", "l", "e", "yes", "none", "m.a", "m.b.c", "m['a']",
        "l[0]", "l[-1]", "t[0]", "1", "0", "-1", "2.5", "'ab'", "''", '"b"', "true",
        "None", "[]", "[1, 'a']", "{}", "{'a': 1}",
    ]
)  # fmt: skip
SCOPE = {
    "t": "abc", "u": "B", "n": 3, "z": 0, "f": 1.5, "m": {"a": 1, "b": {"c": "x"}},
    "l": [1, "a", None], "e": [], "yes": True, "none": None,
}  # fmt: skip


ONE = (
    "({})", "(not {})", "({}) is None", "({}) is not True", "len({})", "lower({})",
    "({}).upper()", "strip({})",
)  # fmt: skip
TWO = (
    "{} {sign} {}", "({} and {})", "({} or {})", "strip({}, {})", "startswith({}, {})",
    "({}).endswith({})", "m.get({}, {})", "({0} in [{1}, {0}])", "({} in ({}, 1))",
    "[{}, {}]",
)  # fmt: skip
THREE = ("{} {sign} {} {sign} {}", "({} if {} else {})")
SIGNS = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds(str.format, st.sampled_from(ONE), inner),
        st.builds(str.format, st.sampled_from(TWO), inner, inner, sign=SIGNS),
        st.builds(str.format, st.sampled_from(THREE), inner, inner, inner, sign=SIGNS),
    )


@settings(max_examples=examples(1500), deadline=None)
@given(st.recursive(atoms, _grown, max_leaves=8))
def test_where_python_has_a_value_ours_is_the_same(source):
    try:
        expected = asked_of_python(source, SCOPE)
    except Exception:  # noqa: BLE001 - whatever Python refuses may be anything here
        expected = ...
    try:
        found = value(source, **SCOPE)
    except ConditionError:
        found = ...

    if expected is not ...:
        assert found == expected
        assert type(found) is type(expected) or isinstance(found, dict)


def test_a_number_beside_itself():
    found = {sign: value(f"1 {sign} 1") for sign in ("<", "<=", ">", ">=")}

    assert found == {"<": False, "<=": True, ">": False, ">=": True}


MISSING = [
    ("missing", None), ("missing.field", None), ("missing['a'].b[0]", None),
    ("m.missing.deeper", None), ("m[none]", None), ("l[7]", None), ("t[9]", None),
    ("missing.startswith('git push')", None), ("t.startswith(missing)", None),
    ("missing.lower().strip()", None), ("len(missing)", None),
    ("len(missing) > 3", False), ("3 > len(missing)", False),
    ("missing < 1", False), ("missing >= missing", False),
    ("'a' in missing", False), ("'a' not in missing", True),
    ("missing in t", False), ("missing not in t", True),
    ("none in l", True), ("none in e", False), ("missing == none", True),
    ("missing.get('a')", None), ("missing.get('a', 4)", 4), ("m.get('a', 4)", 1),
    ("matches(missing, '*')", None), ("matches(t, missing)", None),
    ("runs(missing, 'pytest')", False), ("'x' in words(missing)", False),
    ("runs('ls', missing, l[2])", False), ("t.strip(missing)", "abc"),
    ("startswith(t, ['x', 'ab'])", True), ("t.endswith(['x', 'b'])", False),
    ("t.startswith([])", False), ("1 < 2 < 'a'[5]", False),
    ("1 > 2 < 'a'", False), ("z and missing.a", 0), ("t or (t < 1)", "abc"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), MISSING)
def test_what_is_missing_is_none_and_harmless(source, expected):
    found = value(source, **SCOPE)

    assert found == expected
    assert type(found) is type(expected)


WRONG_TYPES = [
    ("n < t", "'<' cannot compare a number with a text"),
    ("l < ['b']", "'<' cannot compare a list with a list"),
    ("1 in t", "'in' cannot look for a number in a text"),
    ("t in n", "'in' cannot look for a text in a number"),
    ("l in m", "'in' cannot look for a list in a mapping"),
    ("t.field", "a text has no field 'field'"),
    ("l['a']", "a list has no field 'a'"),
    ("m[l]", "a list cannot be a key"),
    ("n.lower()", "'lower' takes texts, not a number"),
    ("t.startswith(['x', 1])", "'startswith' takes texts, not a number"),
    ("matches(yes, '*')", "'matches' takes texts, not true or false"),
    ("len(n)", "a number has no length"),
    ("t.get('a')", "'get' cannot look up a text in a text"),
    ("runs(n, 'a')", "'runs' takes a command, not a number"),
    ("runs(t, n)", "'runs' takes names of programs, not a number"),
    ("runs(t, strip(' '))", "'runs' takes names of programs, not an empty text"),
    ("runs(t, 'abc')", "'runs' cannot be asked here"),
    ("words(m)", "'words' takes a command, not a mapping"),
]


@pytest.mark.parametrize(("source", "message"), WRONG_TYPES)
def test_error_other_wrong_types_name_the_place(source, message):
    whole = f"yes and ({source})"

    with pytest.raises(ConditionError) as caught:
        value(whole, **SCOPE)

    assert (caught.value.message, caught.value.at) == (message, len("yes and ("))


UNREADABLE = [
    ("runs(c, 'pytest')", "may"),
    ("runs(c, 'pytest') and yes", "may"),
    ("runs(c, 'pytest') and z", "no"),
    ("z and runs(c, 'pytest')", "no"),
    ("runs(c, 'pytest') or yes", "yes"),
    ("runs(c, 'pytest') or z", "may"),
    ("runs(c, 'pytest') and not runs(c, 'pytest -q')", "may"),
    ("runs(c, 'pytest') == true", "may"),
    ("1 > 2 == runs(c, 'pytest')", "no"),
    ("runs(c, 'pytest') if yes else z", "may"),
    ("t if runs(c, 'pytest') else z", "may"),
    ("len([runs(c, 'pytest')]) > 0", "may"),
    ("'pytest' in words(c)", "may"),
    ("'pytest' not in words(c)", "may"),
    ("'ruff' in words(c)", "no"),
]


@pytest.mark.parametrize(("source", "expected"), UNREADABLE)
def test_what_cannot_be_read_is_neither_true_nor_false(source, expected):
    shell = {"runs": lambda *_: MAY, "words": lambda _: MAY}
    code = compile_condition(source).code

    assert decide(code, SCOPE | {"c": "pytest x"}, shell) == expected


def test_may_is_never_taken_for_true():
    with pytest.raises(TypeError):
        bool(MAY)


def test_no_parser_is_asked_about_a_command_without_the_word():
    asked = []
    shell = {"runs": lambda *given: asked.append(given), "words": asked.append}
    source = "runs(c, 'pytest', ['git push']) or 'x' in words(c) or runs(d, 'pytest')"

    evaluate(compile_condition(source).code, {"c": "ls -l", "d": "py'te'st"}, shell)

    assert asked == [("py'te'st", "pytest")]


def test_values_nested_too_deeply_are_an_error_with_the_place():
    def nested():
        found: list[Any] = []
        for _ in range(100_000):
            found = [found]
        return found

    with pytest.raises(ConditionError) as caught:
        value("a == b", a=nested(), b=nested())

    assert caught.value.message == "values nested too deeply to compare"


def test_a_hook_loads_the_reader_only_for_a_command_that_may_match():
    script = f"""
import sys
import warnings
sys.path.append({str(PACKAGE.parent)!r})
from bridge.policy.condition import evaluate
from bridge.policy.shell_functions import shell
code = ["runs", 0, ["name", 0, "command"], "pytest"]
functions = shell()
print(evaluate(code, {{"command": "ls -l"}}, functions))
print("bridge.policy.started_programs" in sys.modules)
print(evaluate(code, {{"command": "cd x && pytest"}}, functions))
print(*sorted(sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    *said, loaded = done.stdout.splitlines()
    assert said == ["False", "False", "True"]
    heavy = {"typing", "dataclasses", "subprocess", "importlib.resources", "pathlib"}
    assert not set(loaded.split()) & heavy


# What is shown of a condition's parts


def test_each_part_is_shown_with_its_value():
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


def test_in_a_pipe_nothing_is_cut():
    source = f'command == "{"x" * 500}"'

    shown = show_parts(explain(compile_condition(source), {"command": "y" * 500}))

    first, second = shown.splitlines()
    assert first == f"{source}  no"
    assert second.split() == ["command", f'"{"y" * 500}"']


def test_parts_that_the_condition_never_reaches_are_shown_too():
    parts = explain(compile_condition("a and b < 1"), {"a": False, "b": "x"})

    assert [(part.text, str(part)) for part in parts] == [
        ("a and b < 1", "no"),
        ("a", "no"),
        ("b < 1", "error: '<' cannot compare a text with a number"),
        ("b", '"x"'),
    ]


def test_a_part_that_depends_on_what_cannot_be_read_says_so():
    condition = compile_condition('runs(command, "pytest")')
    scope = {"command": "pytest $X"}

    whole, _ = explain(condition, scope, {"runs": lambda *_: MAY})

    assert str(whole) == "may: it depends on what cannot be read"


PARTS = [
    ("!a && b.c-d[0]", ["!a && b.c-d[0]", "!a", "a", "b.c-d[0]", "b.c-d", "b"]),
    ("${{ (a) }}", ["a"]),
    ("'é' in é.ü", ["'é' in é.ü", "é.ü", "é"]),
    ('a contains "x"', ['a contains "x"', "a"]),
    ("1", []),
]


@pytest.mark.parametrize(("source", "texts"), PARTS)
def test_parts_are_the_words_of_the_source(source, texts):
    assert [part.text for part in explain(compile_condition(source), {})] == texts
