"""Whatever the schema, a check comes to an end, and says as another library says."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import jsonschema
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from bridge.protocol import compiled_schema
from bridge.protocol.json_schema import problem_of, problem_of_schema, problems_of

NESTED = "^(a+)+$"
EVIL = "a" * 60 + "!"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_4 = "http://json-schema.org/draft-04/schema#"


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
    "looking around": ({"pattern": "^(?:(?=a)a+)+$"}, EVIL, "too many tries"),
    "looking around, often": (
        {"items": {"pattern": "(?=.*x)b"}},
        ["a" * 3_000] * 1_000,
        "too many tries",
    ),
    "looking around in short texts": (
        {"items": {"not": {"pattern": r"^(?:a|(?=a)a)*\b(?=!)$"}}},
        ["a" * 11] * 200_000,
        "too many tries",
    ),
    "looking around in a long text": (
        {"pattern": "(?=.*x)b"},
        "a" * 10_000,
        "too many tries",
    ),
    "oneOf": (doubling("oneOf"), {}, "too many steps"),
    "allOf": (doubling("allOf"), {}, "too many steps"),
    "dependent": (dependent(), {"a": 1, "b": 2}, "too many steps"),
    "two references": (twice_referred(), [1], "too many steps"),
    "quotes": (
        {"anyOf": [{"type": "integer"}] * 5_000},
        "a" * 1_000_000,
        "is not valid under any",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_error_a_check_that_would_not_end(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What hangs meets the time limit of the tests."""
    # A fraction: what is given up is given up all the same.
    monkeypatch.setattr(compiled_schema, "MAX_STEPS", 50_000)
    schema, value, message = BOMBS[name]

    problem = problem_of(schema, value)

    assert problem is not None
    assert message in problem


@pytest.mark.parametrize("keyword", ["oneOf", "allOf"])
def test_error_a_schema_that_grows_out_of_proportion(keyword: str) -> None:
    told = problem_of_schema(doubling(keyword))

    assert told == "cannot be used: it is too large to be checked"


def tree(depth: int, leaf: Any) -> Any:
    """Alternatives within alternatives: 2**depth ways to check the leaf."""
    for _ in range(depth):
        leaf = {"op": "not", "of": leaf}
    return leaf


def test_error_the_place_is_found_among_alternatives_of_alternatives() -> None:
    """The library would list all of them, for hours."""
    kinds = [
        {
            "type": "object",
            "required": ["op", "of"],
            "properties": {"op": {"const": op}, "of": {"$ref": "#/$defs/node"}},
        }
        for op in ("not", "maybe")
    ]
    schema = {
        "$ref": "#/$defs/node",
        "$defs": {"node": {"oneOf": [*kinds, {"type": "integer"}]}},
    }

    assert problem_of(schema, tree(40, 1)) is None
    assert problem_of(schema, tree(40, {"op": "not"})) == (
        "$" + ".of" * 40 + ': "of" is a required property'
    )
    assert problem_of(schema, tree(40, "x")) == (
        "$" + ".of" * 40 + """: "x" is not valid under any of the schemas in 'oneOf'"""
    )


FAULTS: dict[str, tuple[dict[str, Any], Any, str]] = {
    "an item": (
        {"properties": {"a": {"items": {"pattern": NESTED}}}},
        {"a": ["aa", EVIL]},
        f'$.a[1]: "{EVIL}" does not match "{NESTED}"',
    ),
    "what is missing, before what is below": (
        {"required": ["b"], "properties": {"a": {"type": "integer"}}},
        {"a": "x"},
        '$: "b" is a required property',
    ),
    "a name with a space": (
        {"additionalProperties": {"type": "integer"}},
        {"a b": "1"},
        """$['a b']: "1" is not of type "integer\"""",
    ),
    "a name with a slash": (
        {"properties": {"a/b": {"type": "integer"}, "a~b": {"minimum": 1}}},
        {"a/b": 1, "a~b": 0},
        "$['a~b']: 0 is less than the minimum of 1",
    ),
    "one too many": (
        {"properties": {"a": {}}, "additionalProperties": False},
        {"a": 1, "b": 2},
        "$: Additional properties are not allowed ('b' was unexpected)",
    ),
    "may be null": (
        {"anyOf": [{"type": "object", "required": ["a"]}, {"type": "null"}]},
        {},
        '$: "a" is a required property',
    ),
    "none of several": (
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        1,
        "$: 1 is not valid under any of the schemas in 'anyOf'",
    ),
    "one of several too many": (
        {"oneOf": [{}, {}]},
        1,
        (
            "$: 1 is valid under more than one of the schemas listed in the 'oneOf' "
            "keyword"
        ),
    ),
    "by a reference": (
        {"$ref": "#/$defs/a/allOf/0", "$defs": {"a": {"allOf": [{"const": 1}]}}},
        2,
        "$: 1 was expected",
    ),
    "by an anchor": (
        {"items": {"$ref": "#a"}, "$defs": {"a": {"$anchor": "a", "const": 1}}},
        [2],
        "$[0]: 1 was expected",
    ),
    "an alternative by name": (
        {
            "oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}],
            "$defs": {
                k: {"properties": {"kind": {"const": k}, "n": {"type": "integer"}}}
                for k in "ab"
            },
        },
        {"kind": "b", "n": "x"},
        '$.n: "x" is not of type "integer"',
    ),
    "then": (
        {"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 5}},
        "a",
        '$: "a" is shorter than 2 characters',
    ),
    "else": (
        {"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 5}},
        1,
        "$: 1 is less than the minimum of 5",
    ),
    "by place in a list": (
        {"prefixItems": [{}, {"type": "string"}], "items": {"type": "integer"}},
        ["a", "b", "c"],
        '$[2]: "c" is not of type "integer"',
    ),
    "by place, as it was written before": (
        {"$schema": DRAFT_7, "items": [{}, {"type": "string"}]},
        ["a", 1],
        '$[1]: 1 is not of type "string"',
    ),
    "nothing may be there": (
        {"properties": {"a": False}},
        {"a": [1]},
        "$.a: [1] is not allowed here",
    ),
    "not": (
        {"not": {"type": "integer"}},
        1,
        '$: {"type":"integer"} is not allowed for 1',
    ),
    "a name": (
        {"propertyNames": {"maxLength": 1}},
        {"ab": 1},
        '$: "ab" is longer than 1 character',
    ),
    "unevaluated": (
        {"$ref": "#/$defs/a", "unevaluatedProperties": False, "$defs": {"a": {}}},
        {"a": 1},
        "$: Unevaluated properties are not allowed ('a' was unexpected)",
    ),
    "a long value": (
        {"type": "integer"},
        ["é" * 900],
        '$: ["' + "é" * 198 + '… is not of type "integer"',
    ),
    "beside a reference, before 2019": (
        {
            "$schema": DRAFT_7,
            "$ref": "#/definitions/a",
            "type": "string",
            "definitions": {"a": {"type": "integer"}},
        },
        "a",
        '$: "a" is not of type "integer"',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_error_the_place_and_the_rule_are_named(name: str) -> None:
    schema, value, fault = FAULTS[name]

    assert problem_of_schema(schema) is None
    assert problem_of(schema, value) == fault


def test_error_too_deep_to_name_the_place() -> None:
    """A fault that cannot be named is a fault all the same."""
    schema = {"type": ["array", "integer"], "items": {"$ref": "#"}}
    value: Any = "x"
    for _ in range(150):
        value = [value]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 100)
    try:
        problem = problem_of(schema, value)
    finally:
        sys.setrecursionlimit(limit)

    assert problem == "the answer is nested too deeply for its schema"


def test_data_that_looks_like_a_schema_is_data() -> None:
    said = {"$ref": "#/nope", "pattern": "("}
    schema = {"enum": [said], "default": said, "properties": {"$ref": {}, "const": {}}}

    assert problem_of_schema(schema) is None
    assert problem_of(schema, said) is None


@pytest.mark.parametrize(
    ("draft", "is_checked"), [("http://example.org/own", True), (DRAFT_7, False)]
)
def test_an_unknown_draft_is_the_newest(draft: str, *, is_checked: bool) -> None:
    schema = {"$schema": draft, "prefixItems": [{"type": "integer"}]}

    assert (problem_of(schema, ["a"]) is not None) is is_checked


def test_formats_and_encodings_are_notes() -> None:
    schema = {"$schema": DRAFT_7, "format": "date", "contentEncoding": "base64"}

    assert problem_of(schema, "!") is None


def test_error_characters_that_have_no_utf8() -> None:
    problem = problem_of({"type": "string"}, "\ud800")

    assert problem is not None
    assert problem.startswith("the answer cannot be checked: ")


def test_many_values_have_the_steps_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent may say as many as it likes; each of them may be the answer."""
    monkeypatch.setattr(compiled_schema, "MAX_STEPS", 10_000)

    problems = problems_of(doubling("allOf", 6), [{"n": n} for n in range(200)])

    assert problems[0] is None
    assert problems[-1] is not None
    assert "too many steps" in problems[-1]


def test_steps_go_by_the_size_of_what_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compiled_schema, "MAX_STEPS", 1_000)
    schema = doubling("allOf", 5)

    assert problem_of(schema, {}) is None
    assert "too many steps" in str(problem_of(schema, [[[1] * 1_000]]))


def test_a_large_answer_is_no_bomb() -> None:
    """Nearly as large as one may be, of small parts, by a model within a model."""
    item = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["name", "n"],
        "additionalProperties": False,
    }
    schema = {"$defs": {"item": item}, "items": {"$ref": "#/$defs/item"}}
    items = [{"name": "x" * 16, "n": n} for n in range(90_000)]

    assert problem_of(schema, items) is None


def test_looking_around_in_many_texts_is_no_bomb() -> None:
    schema = {"items": {"pattern": r"^(?=.*[a-z])(?=.*\d)(?!.*\.\.)[a-z\d.]{4,}$"}}

    assert problem_of(schema, [f"name.{n}" for n in range(50_000)]) is None


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
def test_references_that_a_reader_extends(
    draft: Any, reference: dict[str, Any], mark: dict[str, Any], value: Any
) -> None:
    tree = {
        "$id": "tree",
        **mark,
        "properties": {"value": {"type": "integer"}, "next": reference},
    }
    schema = {
        "$schema": draft.META_SCHEMA["$schema"],
        "$id": "https://example.org/strict",
        **mark,
        "$ref": "tree",
        "unevaluatedProperties": False,
        "$defs": {"tree": tree},
    }

    assert (problem_of(schema, value) is None) == draft(schema).is_valid(value)


@pytest.mark.parametrize(
    "pattern",
    [r"^\p{L}{200}%d$", r"(?=\p{L}{200}%d)" * 40],
    ids=["large", "large and looking"],
)
def test_error_patterns_that_take_long_to_compile(pattern: str) -> None:
    """A few letters may stand for ten MiB of states, and a schema has many of them."""
    patterns = {pattern.replace("%d", f"{n}"): {} for n in range(500)}

    told = problem_of_schema({"patternProperties": patterns})

    assert told is not None
    assert "is no regular expression, or far too large" in told


@pytest.mark.parametrize(
    "patterns",
    [
        [rf"^(?!/)(?!.*\.\.)[\w./ -]{{1,{n}}}$" for n in (100, 90, 80)],
        [rf"^(?!\s*$).{{1,{n}}}$" for n in range(5_000, 8_000, 500)],
        [r"^(?=.*\d)(?=.*[a-z])(?=.*[A-Z]).{8,64}$"] * 100,
        [rf"^[\p{{L}} .'-]{{1,{n}}}$" for n in range(80, 100)],
        [rf"^[A-Za-z0-9._-]{{1,64}}$|{n}" for n in range(300)],
    ],
    ids=["paths", "not blank", "passwords", "names", "many"],
)
def test_patterns_of_the_common_kind_are_no_matter(patterns: list[str]) -> None:
    fields = {f"f{n}": {"pattern": pattern} for n, pattern in enumerate(patterns)}
    schema = {"properties": fields}

    assert problem_of_schema(schema) is None
    told = problem_of(schema, dict.fromkeys(fields, " /../\n"))
    assert told is not None
    assert "does not match" in told


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
    ],
)
def test_patterns_are_those_of_the_standard(
    pattern: str, text: str, *, is_match: bool
) -> None:
    assert (problem_of({"pattern": pattern}, text) is None) is is_match


@pytest.mark.parametrize(
    "pattern", ["(", "(a{1000}){1000}", "(" * 9_000, r"\Aa\Z"], ids=lambda p: p[:20]
)
def test_error_a_pattern_that_is_refused(pattern: str) -> None:
    told = problem_of_schema({"properties": {"a": {"pattern": pattern}}})
    assert told is not None
    assert told.startswith("$.properties.a.pattern: ")
    told = problem_of_schema({"patternProperties": {pattern: {}}})
    assert told is not None
    assert told.startswith("$.patternProperties")


# The same as another library says

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

    try:
        is_valid = draft(schema).is_valid(value)
    except TypeError:
        reject()  # A bug of the other library: `items: false` in draft 2019-09.

    assert problem_of_schema(schema) is None
    assert (problem_of(schema, value) is None) == is_valid
