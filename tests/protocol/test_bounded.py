"""Whatever the schema, a check comes to an end, and says as the library says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from counted import at_most
from hypothesis import given
from hypothesis import strategies as st

from bridge.protocol import bounded, patterns
from bridge.protocol.json_schema import problem_of, problem_of_schema, problems_of
from bridge.protocol.patterns import PatternRefused, pattern_of

NESTED = "^(a+)+$"
EVIL = "a" * 60 + "!"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_4 = "http://json-schema.org/draft-04/schema#"


def free(_steps: int) -> None:
    """Count nothing."""


def doubling(keyword: str, levels: int = 40) -> dict[str, Any]:
    """A schema of a few lines and 2**40 branches."""
    parts = {
        str(n): {keyword: [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(levels)
    }
    return {"$defs": {**parts, str(levels): {}}, "$ref": "#/$defs/0"}


def dependent(levels: int = 40) -> dict[str, Any]:
    parts: dict[str, Any] = {
        str(n): {"dependentSchemas": {x: {"$ref": f"#/$defs/{n + 1}"} for x in "ab"}}
        for n in range(levels)
    }
    return {
        "unevaluatedProperties": False,
        "$defs": {**parts, str(levels): {}},
        "$ref": "#/$defs/0",
    }


def twice_referred(levels: int = 40) -> dict[str, Any]:
    parts: dict[str, Any] = {
        str(n): dict.fromkeys(("$ref", "$dynamicRef"), f"#/$defs/{n + 1}")
        for n in range(levels)
    }
    return {
        "unevaluatedItems": False,
        **parts["0"],
        "$defs": {**parts, str(levels): {}},
    }


def down(levels: int) -> dict[str, Any]:
    part: dict[str, Any] = {}
    for _ in range(levels):
        part = {"b": part}
    return part


BOMBS: dict[str, tuple[dict[str, Any], Any, str]] = {
    "pattern": ({"pattern": NESTED}, EVIL, "does not match"),
    "names": (
        {"patternProperties": {NESTED: {}}, "additionalProperties": False},
        {EVIL: 1},
        "was unexpected",
    ),
    "names, unevaluated": (
        {"patternProperties": {NESTED: {}}, "unevaluatedProperties": False},
        {EVIL: 1},
        "was unexpected",
    ),
    "an older draft": ({"$schema": DRAFT_4, "pattern": NESTED}, EVIL, "does not match"),
    "a part of another draft": (
        {"items": {"$schema": DRAFT_7, "pattern": NESTED}},
        [EVIL],
        "does not match",
    ),
    "the whole, from within": (
        {
            "$schema": DRAFT_7,
            "anyOf": [
                {"type": "array", "items": {"$ref": "#"}},
                {"type": "string", "pattern": NESTED},
            ],
        },
        [EVIL],
        "does not match",
    ),
    "looking around": ({"pattern": "^(?:(?=a)a+)+$"}, EVIL, "needs more than"),
    "looking around, often": (
        {"items": {"pattern": "(?=.*x)b"}},
        ["a" * 3_000] * 1_000,
        "too many steps",
    ),
    "looking around in short texts": (
        {"items": {"not": {"pattern": r"^(?:a|(?=a)a)*\b(?=!)$"}}},
        ["a" * 11] * 200_000,
        "too many steps",
    ),
    "looking around in a long text": (
        {"pattern": "(?=.*x)b"},
        "a" * 10_000,
        "in texts of up to 4,000 characters",
    ),
    "oneOf": (doubling("oneOf"), {}, "too many steps"),
    "allOf": (doubling("allOf"), {}, "too many steps"),
    "dependent": (dependent(), {"a": 1, "b": 2}, "too many steps"),
    "two references": (twice_referred(), [1], "too many steps"),
    "choices": (
        {"items": {"enum": list(range(50_000))}},
        list(range(50_000)),
        "too many steps",
    ),
    "quotes": (
        {"anyOf": [{"type": "integer"}] * 5_000},
        "a" * 1_000_000,
        "too many steps",
    ),
    "unique, often": (
        {"allOf": [{"uniqueItems": True}] * 60},
        list(range(100_000)),
        "too many steps",
    ),
    "a long way to a part": (
        {"a": down(200), "items": {"$ref": f"#/a{'/b' * 200}"}},
        [1] * 100_000,
        "too many steps",
    ),
    "more patterns than are kept": (
        {
            "patternProperties": {f"^(a|b)*{n}$": {} for n in range(1_000)},
            "additionalProperties": False,
        },
        {f"k{n}": 1 for n in range(3_000)},
        "too many steps",
    ),
    "itself": ({"$ref": "#"}, 1, "nested too deeply"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_error_a_check_that_would_not_end(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # A fiftieth: what is given up is given up all the same.
    monkeypatch.setattr(bounded, "MAX_STEPS", 100_000)
    schema, value, told = BOMBS[name]

    with at_most(lines=5_000_000):
        problem = problem_of(schema, value)

    assert problem is not None
    assert told in problem


@pytest.mark.parametrize("levels", range(12))
def test_error_the_end_of_the_stack_is_no_panic(
    levels: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """In the library's part in Rust that would be one, with pages on stderr.

    At which depth it comes to be there differs by a few frames.
    """
    start = {"if": {"const": {}}, "else": {"not": {"$ref": "#/$defs/r"}}}
    whole: dict[str, Any] = start
    for _ in range(levels):
        whole = {"allOf": [whole]}

    told = problem_of({"$defs": {"r": start}, **whole}, {"c": None, "x-1": {}})

    assert told == "the answer is nested too deeply for its schema"
    assert capfd.readouterr().err == ""


def test_error_a_place_is_named_however_bad_the_pattern() -> None:
    schema = {"properties": {"a": {"items": {"pattern": NESTED}}}}

    problem = problem_of(schema, {"a": ["aa", EVIL]})

    assert problem == f"$.a[1]: {EVIL!r} does not match {NESTED!r}"


def test_looking_around_in_many_texts_is_no_bomb() -> None:
    schema = {"items": {"pattern": r"^(?=.*[a-z])(?=.*\d)(?!.*\.\.)[a-z\d.]{4,}$"}}

    assert problem_of(schema, [f"name.{n}" for n in range(50_000)]) is None


def test_many_values_have_the_steps_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent may say as many as it likes; each of them may be the answer."""
    monkeypatch.setattr(bounded, "MAX_STEPS", 100_000)
    schema = doubling("oneOf", 6)

    with at_most(lines=5_000_000):
        problems = problems_of(schema, [{"n": n} for n in range(10_000)])

    assert problems[0] is not None
    assert problems[0].startswith("$: ")
    assert problems[-1] is not None
    assert "too many steps" in problems[-1]


def test_a_large_schema_is_read_once_for_many_values() -> None:
    schema = {"$defs": {str(n): {"$anchor": f"a{n}"} for n in range(2_000)}}

    with at_most(lines=10_000_000):
        told = problems_of({**schema, "type": "string"}, list(range(5_000)))

    assert told[-1] is not None


@pytest.mark.parametrize(
    ("draft", "reference", "mark"),
    [
        (
            jsonschema.Draft202012Validator,
            {"$dynamicRef": "#node"},
            {"$dynamicAnchor": "node"},
        ),
        (
            jsonschema.Draft201909Validator,
            {"$recursiveRef": "#"},
            {"$recursiveAnchor": True},
        ),
    ],
    ids=["2020-12", "2019-09"],
)
@pytest.mark.parametrize(
    "value",
    [
        {"value": 1, "next": {"value": 2}},
        {"value": 1, "next": {"value": "x"}},
        {"value": 1, "next": {"odd": 2}},
        {"value": 1, "next": {"value": 2, "more": 1}},
    ],
)
def test_references_that_a_reader_extends_are_the_librarys(
    draft: Any, reference: dict[str, Any], mark: dict[str, Any], value: Any
) -> None:
    tree = {
        "$id": "tree",
        **mark,
        "properties": {"value": {"type": "integer"}, "next": reference},
    }
    schema = {
        "$schema": draft.META_SCHEMA["$schema"],
        "$id": "urn:strict",
        **mark,
        "$ref": "tree",
        "unevaluatedProperties": False,
        "$defs": {"tree": tree},
    }

    assert (problem_of(schema, value) is None) == draft(schema).is_valid(value)


def test_many_objects_are_told_apart_at_once() -> None:
    items: list[Any] = [{"n": n} for n in range(50_000)]

    assert problem_of({"uniqueItems": True}, items) is None
    told = problem_of({"uniqueItems": True}, [*items, {"n": 7.0}])
    assert told is not None
    assert told.startswith("$: [{'n': 0}, ")


def test_a_large_answer_is_no_bomb() -> None:
    """Nearly as large as one may be, of small parts, by a model within a model."""
    item = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["name", "n"],
        "additionalProperties": False,
    }
    schema = {"$defs": {"item": item}, "items": {"$ref": "#/$defs/item"}}
    assert (
        problem_of(schema, [{"name": "x" * 16, "n": n} for n in range(90_000)]) is None
    )


def test_a_schema_of_many_names_is_looked_through_once() -> None:
    parts = {str(n): {"$anchor": f"a{n}"} for n in range(2_000)}
    schema = {"$defs": parts, "items": {"$ref": "#a1999"}}

    with at_most(lines=10_000_000):
        assert problem_of(schema, list(range(5_000))) is None


@pytest.mark.parametrize(
    "pattern",
    [r"^\p{L}{200}%d$", r"(?=\p{L}{200}%d)" * 40],
    ids=["large", "large and looking"],
)
def test_patterns_that_take_long_to_compile_are_counted(pattern: str) -> None:
    """A few letters may stand for ten MiB of states, and a schema has many of them."""
    patterns = {pattern.replace("%d", f"{n}"): {} for n in range(500)}

    told = problem_of_schema({"patternProperties": patterns})

    assert told == "cannot be used: it is too large to be checked"


@pytest.mark.parametrize(
    "patterns",
    [
        [rf"^(?!/)(?!.*\.\.)[\w./ -]{{1,{n}}}$" for n in (100, 90, 80)],
        [rf"^(?!\s*$).{{1,{n}}}$" for n in range(5_000, 8_000, 500)],
        [r"^(?=.*\d)(?=.*[a-z])(?=.*[A-Z]).{8,64}$"] * 100,
        [rf"^[\p{{L}} .'-]{{1,{n}}}$" for n in range(80, 100)],
    ],
    ids=["paths", "not blank", "passwords", "names"],
)
def test_patterns_of_the_common_kind_are_no_matter(patterns: list[str]) -> None:
    fields = {f"f{n}": {"pattern": pattern} for n, pattern in enumerate(patterns)}
    schema = {"properties": fields}

    assert problem_of_schema(schema) is None
    told = problem_of(schema, dict.fromkeys(fields, " /../\n"))
    assert told is not None
    assert "does not match" in told


def test_more_patterns_than_are_kept_compiled_are_compiled_once_a_check() -> None:
    """Each item compiled them all again, for minutes."""
    pattern = "^[A-Za-z0-9._-]{1,64}$"
    parts = {f"{pattern}|{n}": {"type": "integer"} for n in range(300)}
    schema = {"items": {"patternProperties": parts}}

    assert problem_of_schema(schema) is None
    assert problem_of(schema, [{"a": 1}] * 1_000) is None
    assert problem_of(schema, [{"a": "1"}]) is not None


def test_what_it_takes_to_compile_a_pattern_is_always_the_same() -> None:
    """Whether it was compiled before, or not: a check must not depend on that."""
    first: list[int] = []
    again: list[int] = []

    pattern_of(r"^(?=.*1)\p{L}{20}$", spend=first.append)
    pattern_of(r"^(?=.*1)\p{L}{20}$", spend=again.append)

    assert sum(first) == sum(again) > 10_000


def test_what_is_kept_compiled_is_bounded() -> None:
    """By number, and by what it cost, which goes with its size."""
    kept = patterns._Kept()
    made = pattern_of("a", spend=free)
    for number in range(300):
        kept.add(replace(made, text=f"{number}", steps=10))
    assert [kept.get(f"{n}") is None for n in (43, 44, 299)] == [True, False, False]

    kept.add(replace(made, text="dear", steps=patterns._MAX_KEPT_STEPS - 1_000))
    assert kept.get("dear")
    assert sum(kept.get(f"{n}") is not None for n in range(300)) == 100


@pytest.mark.parametrize(
    ("pattern", "text", "is_match"),
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        ("^(?!foo)", "foobar", False),
        ("^(?!foo)", "barfoo", True),
        (r"^(?=.*\d)(?=.*[a-z]).{4,}$", "abc1", True),
        (r"(.)\1", "abba", True),
        ("^a$", "a\n", False),
        (r"^\d$", "٣", False),
        (r"^\p{Lu}", "Éa", True),
        (r"^[^[]+$", "a", True),
        ("^.$", "\ud800", True),
    ],
)
def test_patterns_are_those_of_the_standard(
    pattern: str, text: str, *, is_match: bool
) -> None:
    assert pattern_of(pattern, spend=free).is_in(text, spend=free) is is_match


@pytest.mark.parametrize(
    "pattern", ["(", "(a{1000}){1000}", "(" * 9_000, r"\Aa\Z", "a" * 10_001]
)
def test_error_a_pattern_that_is_refused(pattern: str) -> None:
    with pytest.raises(PatternRefused):
        pattern_of(pattern, spend=free)

    told = problem_of_schema({"properties": {"a": {"pattern": pattern}}})
    assert told is not None
    assert told.startswith("$.properties.a.pattern: ")
    told = problem_of_schema({"patternProperties": {pattern: {}}})
    assert told is not None
    assert told.startswith("$.patternProperties")


# The same as the library, of which only the unbounded parts were replaced

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, 1.0, 1.5])
    | st.sampled_from(["", "a", "b", "ab", "1"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "ab", "1"]), inner, max_size=3)
    ),
    max_leaves=8,
)
PATTERNS = st.sampled_from(["a", "^a", "b$", "^a?b?$", "[0-9]", "^(?!a)"])


def schemas(inner: Any) -> Any:
    named = st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
    several = st.lists(inner, min_size=1, max_size=2)
    keywords: dict[str, Any] = {
        "type": st.sampled_from(["object", "array", "string", "integer"]),
        "pattern": PATTERNS,
        "patternProperties": st.dictionaries(PATTERNS, inner, max_size=2),
        "properties": named,
        "dependentSchemas": named,
        "additionalProperties": inner,
        "unevaluatedProperties": inner,
        "unevaluatedItems": inner,
        "propertyNames": inner,
        "items": inner,
        "uniqueItems": st.booleans(),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "$ref": st.sampled_from(["#/$defs/one", "#two"]),
        **dict.fromkeys(["allOf", "anyOf", "oneOf"], several),
        **dict.fromkeys(["if", "then", "else", "not"], inner),
    }
    few = st.lists(st.sampled_from(list(keywords)), max_size=4, unique=True)
    return few.flatmap(
        lambda names: st.fixed_dictionaries({name: keywords[name] for name in names})
    )


PART = st.recursive(st.booleans(), schemas, max_leaves=6)
DRAFTS = st.sampled_from(
    [jsonschema.Draft201909Validator, jsonschema.Draft202012Validator]
)


@given(schemas(PART), schemas(st.booleans()), VALUES, DRAFTS)
def test_what_is_valid_is_what_the_library_says(
    schema: dict[str, Any], other: dict[str, Any], value: Any, draft: Any
) -> None:
    plain = {key: part for key, part in other.items() if key != "$ref"}
    schema["$defs"] = {"one": plain, "other": {"$anchor": "two", **plain}}
    schema["$schema"] = draft.META_SCHEMA["$schema"]

    assert problem_of_schema(schema) is None
    assert (problem_of(schema, value) is None) == draft(schema).is_valid(value)
