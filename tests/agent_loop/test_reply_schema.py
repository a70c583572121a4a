"""The schema of a reply: narrower than the schemas it is made of, never wider."""

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.agent_loop.model_policy import LARGE, SMALL
from bridge.agent_loop.reply_schema import (
    RequestedCall,
    call_shape,
    narrowed,
    read_call,
    submit_schema,
)

NODES = {"type": "array", "items": {"$ref": "#/$defs/node"}}
NODE = {"type": "object", "properties": {"name": {"type": "string"}, "children": NODES}}
TREE = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "required": ["root"],
    "$defs": {"node": NODE | {"required": ["name"]}},
}


def test_the_shape_of_a_call():
    empty = {"type": "object", "properties": {}}

    shape = call_shape({"look": empty, "submit_result": {"type": "object"}})

    closed = {"required": ["tool", "arguments"], "additionalProperties": False}
    look = {"tool": {"const": "look"}, "arguments": empty}
    answer = {"tool": {"const": "submit_result"}, "arguments": {"type": "object"}}
    assert shape == {
        "anyOf": [
            {"type": "object", "properties": look, **closed},
            {"type": "object", "properties": answer, **closed},
        ]
    }


@pytest.mark.parametrize("names", [("a/b~c",), ("a/b~c", "look")])
def test_references_are_moved_with_their_schema(names):
    """`#/$defs/node` starts at the top of the tool's schema, not of the shape."""
    shape = call_shape({name: {"type": "object"} for name in names} | {"a/b~c": TREE})
    good = {"root": {"name": "x", "children": [{"name": "y"}]}}
    bad = {"root": {"name": "x", "children": [{"label": "y"}]}}

    check = jsonschema.Draft202012Validator(shape)
    assert check.is_valid({"tool": "a/b~c", "arguments": good})
    assert not check.is_valid({"tool": "a/b~c", "arguments": bad})


def test_texts_lists_and_keys_are_limited():
    kept = {
        "b": {"type": "string", "maxLength": 5},
        "d": {"type": "string", "pattern": "^x$"},
        "e": {"enum": ["x"]},
    }
    text, texts = {"type": "string"}, {"type": ["array", "null"]}
    short = text | {"maxLength": 2000}

    found = narrowed(
        {
            "type": "object",
            "properties": {"a": text, "c": texts | {"items": text}} | kept,
        }
    )

    few = texts | {"items": short, "maxItems": 32}
    assert found == {
        "type": "object",
        "properties": {"a": short, "c": few} | kept,
        "additionalProperties": False,
    }


NUMBER, LIST = {"type": "number"}, {"type": "array", "maxItems": 9}
TEXT = {"type": "string", "maxLength": 9}
LEFT = {
    "set": (LIST | {"uniqueItems": True}, LIST),
    "contains": (LIST | {"contains": TEXT, "minContains": 2}, LIST),
    "unknown format": (TEXT | {"format": "path"}, TEXT),
    "known format": (TEXT | {"format": "date"}, TEXT | {"format": "date"}),
    "names": ({"propertyNames": {"enum": ["a"]}}, {}),
    "not": (NUMBER | {"not": {"const": 3}}, NUMBER),
    "if": (NUMBER | {"if": {"minimum": 1}, "then": {"multipleOf": 2}}, NUMBER),
    "needs": ({"dependentRequired": {"a": ["b"]}}, {}),
    "draft 4, above": (
        NUMBER | {"minimum": 0, "exclusiveMinimum": True},
        NUMBER | {"exclusiveMinimum": 0},
    ),
    "draft 4, to": (
        NUMBER | {"maximum": 0, "exclusiveMaximum": False}, NUMBER | {"maximum": 0},
    ),
    "odd reference": (
        {"$ref": "#/$defs/Page<Item>"}, {"$ref": "#/$defs/Page%3CItem%3E"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "held"), LEFT.values(), ids=LEFT)
def test_what_decoding_cannot_enforce_is_left_to_the_check(schema, held):
    """The answer is checked in any case: nobody need be refused for it."""
    assert narrowed(schema) == held


X = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    "joined",
    [
        {"allOf": [X, {"properties": {}}]},
        {"properties": {"b": {}}, "anyOf": [X]},
        {"$ref": "#/$defs/x", "required": ["b"], "$defs": {"x": X}},
    ],
    ids=["allOf", "anyOf-beside-properties", "ref-beside-required"],
)
def test_an_object_with_several_schemas_stays_open(joined):
    """Closed to the keys of one schema, it would allow nothing. Texts still end."""
    shape = str(narrowed({"type": "object", "properties": {"x": joined}}, SMALL))

    assert "additionalProperties" not in shape
    assert "'maxLength': 4000" in shape


SCHEMAS = st.recursive(
    st.sampled_from(
        [{}, {"type": "string"}, {"type": "integer"}, {"type": "boolean"}, True]
    ),
    lambda inner: st.one_of(
        st.builds(lambda i: {"type": "array", "items": i}, inner),
        st.builds(
            lambda p, r: {
                "type": "object",
                "properties": p,
                "required": [k for k in r if k in p],
            },
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            st.sets(st.sampled_from("abc")),
        ),
        st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner),
        st.builds(lambda a, b: {"allOf": [a, b]}, inner, inner),
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.text(max_size=3), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    ),
    max_leaves=5,
)


@given(SCHEMAS.filter(lambda s: isinstance(s, dict)), VALUES)
def test_a_narrowed_schema_allows_no_more(schema, value):
    """What satisfies the narrowed schema must satisfy the original."""
    if jsonschema.Draft202012Validator(narrowed(schema)).is_valid(value):
        assert jsonschema.Draft202012Validator(schema).is_valid(value)


@given(st.text(max_size=200))
def test_any_reply_can_be_read(text):
    """It is a call of a known tool, or a complaint; never an exception."""
    found = read_call(text, ("look",))

    assert isinstance(found, RequestedCall) == (getattr(found, "tool", None) == "look")


def test_the_default_answer_may_refer_to_calls():
    item = submit_schema(None, LARGE)["properties"]["evidence"]["items"]

    assert item["properties"]["toolUseId"]["maxLength"] == len("call-1234567")
    assert "verified" not in item["properties"]


def test_a_small_model_writes_short_lists():
    """It fills any list. A list that must be long stays long."""
    texts = {"type": "array", "items": {"type": "string"}}

    def most(**more):
        return narrowed({**texts, **more}, SMALL)["maxItems"]

    assert most() == most(maxItems=20) == SMALL.max_items
    assert (most(maxItems=2), most(minItems=9)) == (2, 9)
    assert narrowed({**texts, "maxItems": 20})["maxItems"] == 20


def test_a_small_model_writes_short_texts():
    """If every text is full, the reply must still not be cut."""
    text = {"type": "string", "maxLength": 400}

    assert narrowed(text, SMALL)["maxLength"] == SMALL.max_text_chars
    assert narrowed({**text, "minLength": 300}, SMALL)["maxLength"] == 300
    assert narrowed(text)["maxLength"] == 400


def test_a_small_model_claims_no_optional_evidence():
    part = {"type": "array", "maxItems": 3}
    schema = {"type": "object", "properties": {"ok": {}, "evidence": part}}

    def named(required=(), policy=SMALL):
        found = submit_schema({**schema, "required": list(required)}, policy)
        return set(found["properties"])

    assert named() == {"ok"}
    assert named(policy=LARGE) == named(["evidence"]) == {"ok", "evidence"}
