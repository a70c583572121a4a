"""The message about an invalid value: one place, and the rule that it breaks."""

import inspect
import sys
from typing import Any

import pytest

from bridge.protocol.json_schema import problem_of, problem_of_schema

NESTED = "^(a+)+$"


EVIL = "a" * 60 + "!"


DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def tree(depth: int, leaf: Any) -> Any:
    """Alternatives within alternatives: 2**depth ways to check the leaf."""
    for _ in range(depth):
        leaf = {"op": "not", "of": leaf}
    return leaf


def test_error_in_nested_alternatives():
    """The library would list 2**40 errors."""
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


CHOICE = {"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 5}}
NOTHING = {"properties": {"a": False}}
TWO = "$: 1 is valid under more than one of the schemas in 'oneOf'"
LONG = '$: "ab" is longer than 1 character'
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
    "one of several, beside what may be anything": (
        {"anyOf": [{"allOf": [True], "type": "object", "required": ["a"]}, False]},
        {},
        '$: "a" is a required property',
    ),
    "one of several too many": ({"oneOf": [{}, {}]}, 1, TWO),
    "anything, twice": ({"oneOf": [True, {}, False]}, 1, TWO),
    "a part of a list": (
        {"items": {"enum": [1]}, "$defs": {}},
        [1, 2],
        "$[1]: 2 is not one of 1",
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
    "below an id": (
        {
            "$id": "https://example.org/whole",
            "properties": {"a": {"$ref": "tree"}},
            "$defs": {"tree": {"$id": "tree", "anyOf": [{"const": 1}, {"const": 2}]}},
        },
        {"a": 3},
        "$.a: 3 is not valid under any of the schemas listed in the 'anyOf' keyword",
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
    "then": (CHOICE, "a", '$: "a" is shorter than 2 characters'),
    "else": (CHOICE, 1, "$: 1 is less than the minimum of 5"),
    "no else": (
        {"if": {"type": "string"}, "then": {"minLength": 2}, "items": {"minimum": 5}},
        [7, 1],
        "$[1]: 1 is less than the minimum of 5",
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
    "nothing may be there": (NOTHING, {"a": [1]}, "$.a: [1] is not allowed here"),
    "not": ({"not": {"const": 1}}, 1, '$: {"const":1} is not allowed for 1'),
    "a name": ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, LONG),
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
}


@pytest.mark.parametrize("name", FAULTS)
def test_error_names_the_place_and_the_rule(name):
    schema, value, fault = FAULTS[name]

    assert problem_of_schema(schema) is None
    assert problem_of(schema, value) == fault


def test_error_a_value_nested_too_deeply():
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
