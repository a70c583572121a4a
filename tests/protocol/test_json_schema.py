"""Checks of values and of schemas: the same result as another library gives."""

import inspect
import sys
from typing import Any

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st
from jsonschema import Draft201909Validator, Draft202012Validator

from bridge.protocol.json_schema import problem_of, problem_of_schema, problems_of

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def test_data_that_looks_like_a_schema_is_not_one():
    said = {"$ref": "#/nope", "pattern": "("}
    schema = {"enum": [said], "default": said, "properties": {"$ref": {}, "const": {}}}

    assert problem_of_schema(schema) is None
    assert problem_of(schema, said) is None


def test_a_caller_without_much_stack_left_decides_for_itself_alone():
    schema: dict[str, Any] = {"title": "deep"}
    for _ in range(100):
        schema = {"properties": {"a": schema}}

    def problem_below(calls):
        return problem_below(calls - 1) if calls else problem_of_schema(schema)

    free = sys.getrecursionlimit() - len(inspect.stack())

    assert problem_below(free - 60) == "cannot be used: it is nested too deeply"
    assert problem_of_schema(schema) is None


@pytest.mark.parametrize(
    ("draft", "is_checked"), [("http://example.org/own", True), (DRAFT_7, False)]
)
def test_an_unknown_draft_is_the_newest(draft, *, is_checked):
    schema = {"$schema": draft, "prefixItems": [{"type": "integer"}]}

    assert (problem_of(schema, ["a"]) is not None) is is_checked


BOUNDS = {"minimum": 0, "exclusiveMinimum": True, "exclusiveMaximum": False}


@pytest.mark.parametrize("value", [0, 1])
def test_bounds_as_draft_4_has_them_need_no_draft(value):
    """OpenAPI 3.0 writes them so, and never says in which draft."""
    schema = {"properties": {"a": BOUNDS}, "enum": [{"a": value}]}

    found = problem_of(schema, {"a": value})

    assert problem_of_schema(schema) is None
    assert (found is None) is (value > 0)
    assert "true is not of type" in str(problem_of_schema({"exclusiveMinimum": True}))


def test_formats_and_encodings_are_not_checked():
    schema = {"$schema": DRAFT_7, "format": "date", "contentEncoding": "base64"}

    assert problem_of(schema, "!") is None


def test_error_characters_without_utf8():
    problem = problem_of({"type": "string"}, "\ud800")

    assert problem.startswith("the answer cannot be checked: ")


@pytest.mark.parametrize(
    ("draft", "reference", "mark"),
    [
        (Draft202012Validator, {"$dynamicRef": "#node"}, {"$dynamicAnchor": "node"}),
        (Draft201909Validator, {"$recursiveRef": "#"}, {"$recursiveAnchor": True}),
    ],
    ids=["2020-12", "2019-09"],
)
@pytest.mark.parametrize(
    "value", [{"value": 2}, {"value": "x"}, {"value": 2, "more": 1}], ids=str
)
def test_dynamic_references(draft, reference, mark, value):
    fields = {"value": {"type": "integer"}, "next": reference}
    whole = {"$id": "https://example.org/strict", "$ref": "tree", **mark}
    whole |= {"$schema": draft.META_SCHEMA["$schema"], "unevaluatedProperties": False}
    schema = whole | {"$defs": {"tree": {"$id": "tree", "properties": fields, **mark}}}
    nested = {"value": 1, "next": value}

    assert (problem_of(schema, nested) is None) == draft(schema).is_valid(nested)


MATCHES = [
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
]


@pytest.mark.parametrize(("pattern", "text", "is_match"), MATCHES)
def test_patterns_are_those_of_ecma_262(pattern, text, *, is_match):
    assert (problem_of({"pattern": pattern}, text) is None) is is_match


@pytest.mark.parametrize(
    "pattern", ["(", "(a{1000}){1000}", "(" * 9_000, r"\Aa\Z"], ids=lambda p: p[:20]
)
def test_error_a_pattern_that_is_refused(pattern):
    in_value = problem_of_schema({"properties": {"a": {"pattern": pattern}}})
    in_key = problem_of_schema({"patternProperties": {pattern: {}}})

    assert str(in_value).startswith("$.properties.a.pattern: ")
    assert str(in_key).startswith("$.patternProperties")


NO_TYPE = "$.type: JSON Schema has no type 'objekt'; did you mean 'object'?"
BAD_SCHEMAS = [
    ({"type": "objekt"}, NO_TYPE),
    ({"pattern": "("}, '$.pattern: "(" is no regular expression, or far too large'),
    ({"$ref": "#/nope"}, "cannot be used: Pointer '/nope' does not exist"),
]


@pytest.mark.parametrize(("schema", "complaint"), BAD_SCHEMAS)
def test_error_in_a_schema(schema, complaint):
    assert problem_of_schema(schema) == complaint


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/x", "file:///etc/passwd"])
def test_error_a_schema_that_lies_elsewhere(address):
    complaint = f"cannot be used: nothing is fetched from {address!r}"

    assert problem_of_schema({"properties": {"a": {"$ref": address}}}) == complaint


@pytest.mark.parametrize("name", ["Page<Item>", "a b", "a%b", "ä", "A<b>/c~d"])
def test_a_reference_may_name_what_no_uri_holds(name):
    """As generators write it for types with parameters."""
    pointer = name.replace("~", "~0").replace("/", "~1")
    item = {"properties": {"n": {"type": "integer"}}}
    schema = {
        "properties": {"a": {"$ref": f"#/$defs/{pointer}"}},
        "$defs": {name: item},
    }

    assert problem_of_schema(schema) is None
    assert problem_of(schema, {"a": {"n": 1}}) is None
    assert problem_of(schema, {"a": {"n": ""}}) == '$.a.n: "" is not of type "integer"'


def test_error_a_value_under_an_unusable_schema():
    problems = problems_of({"pattern": "("}, ["a", "b"])

    reason = '"(" is no regular expression, or far too large'
    assert problems == [f"the schema cannot be used: {reason}"] * 2


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
DRAFTS = st.sampled_from([Draft201909Validator, Draft202012Validator])


@given(schemas(PART), schemas(st.booleans()), VALUES, DRAFTS)
def test_the_same_values_are_valid_as_in_another_library(schema, other, value, draft):
    plain = {key: part for key, part in other.items() if key != "$ref"}
    schema["$defs"] = {"one": plain, "other": {"$anchor": "two", **plain}}
    schema["$schema"] = draft.META_SCHEMA["$schema"]
    if draft is Draft201909Validator:
        # The other library forgets what a schema in `additionalProperties` evaluates.
        both = ("additionalProperties", "unevaluatedProperties")
        assume(not all(name in str(schema) for name in both))

    try:
        is_valid = draft(schema).is_valid(value)
    except TypeError:
        reject()  # A bug of the other library: `items: false` in draft 2019-09.

    assert problem_of_schema(schema) is None
    assert (problem_of(schema, value) is None) == is_valid
