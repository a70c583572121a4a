"""What is drawn from a schema: valid by another reader too, and of every kind."""

from __future__ import annotations

import datetime as dt
import json
from enum import Enum
from typing import Annotated, Literal, Union

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, TypeAdapter

from bridge.api.result import schema_of
from bridge.errors import InvalidRequest
from bridge.protocol.agent_output import ANSWER_SCHEMA
from bridge.protocol.json_schema import problem_of
from bridge.testing import schema_values, values


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Leaf(BaseModel):
    kind: Literal["leaf"]
    size: Annotated[int, Field(ge=3, lt=10, multiple_of=2)]


class Tree(BaseModel):
    kind: Literal["tree"]
    below: list[Annotated[Union["Tree", Leaf], Field(discriminator="kind")]] = []
    when: dt.datetime | None = None
    tags: set[str] = Field(min_length=1)
    pair: tuple[int, str]
    colour: Colour
    parts: dict[str, float] = {}
    code: Annotated[str, Field(pattern=r"^[a-c]+-\d$")]
    share: Annotated[float, Field(gt=0, le=1)]


NESTED = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "required": ["next"],
            "properties": {
                "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}
            },
        }
    },
}
# The smallest value of each, as it is shown of a program that no answer suits.
SMALLEST = {
    "default": (None, {"status": "success", "summary": "0"}),
    "list": (list[Leaf], []),
    "literal": (Literal["yes", "no"], "yes"),
    "number": (int, 0),
    "untyped list": (
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "array"}}},
        {"a": []},
    ),
    "all of": (
        {
            "allOf": [
                {"type": "object", "required": ["a"]},
                {"properties": {"a": {"enum": [1, 2]}}},
            ]
        },
        {"a": 1},
    ),
    "contains": (
        {
            "type": "array",
            "contains": {"const": 7},
            "minItems": 2,
            "items": {"type": "integer"},
            "uniqueItems": True,
        },
        [7, 0],
    ),
    "prefix": (
        {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
        [],
    ),
    "keys by pattern": (
        {
            "type": "object",
            "patternProperties": {"^x_": {"type": "integer"}},
            "additionalProperties": False,
            "minProperties": 1,
        },
        {"x_": 0},
    ),
    "names": (
        {
            "type": "object",
            "propertyNames": {"pattern": "^[a-z]$"},
            "minProperties": 2,
            "maxProperties": 3,
        },
        {"a": None, "b": None},
    ),
    "no name, a list": ({"type": "object", "propertyNames": {"const": [1]}}, {}),
    "no name, a text of no length": (
        {"type": "object", "propertyNames": {"minLength": 5, "maxLength": 2}},
        {},
    ),
    "if": (
        {
            "type": "object",
            "if": {"required": ["k"]},
            "then": {"required": ["b"]},
            "else": {"required": ["c"]},
        },
        {"c": None},
    ),
    "recursive": (NESTED, {"next": None}),
    "not": ({"not": {"type": "object"}}, []),
    "multiples": (
        {"type": "number", "multipleOf": 0.5, "minimum": 1, "maximum": 4},
        1.0,
    ),
    "one of": (
        {
            "oneOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "minLength": 1},
            ]
        },
        0,
    ),
    "anything": ({"$defs": {}}, {}),
}
QUICK = settings(
    max_examples=25,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
FIND = settings(database=None, deadline=None, phases=[Phase.generate, Phase.shrink])


@pytest.mark.parametrize(("form", "smallest"), SMALLEST.values(), ids=SMALLEST)
def test_whatever_is_drawn_is_valid_and_the_smallest_is_small(form, smallest):
    """By a second library, and nearly nothing is drawn in vain."""
    reader = Draft202012Validator(ANSWER_SCHEMA if form is None else schema_of(form))
    drawn = []

    @QUICK
    @given(values(form))
    def draw(value):
        reader.validate(value)
        drawn.append(value)

    draw()

    assert drawn
    assert schema_values.smallest(form) == smallest


def test_a_model_gets_every_kind_of_object():
    """Nested, with and without what is optional; the model itself takes all of them."""
    model = TypeAdapter(Tree)
    drawn: list[Tree] = []

    @QUICK
    @given(values(Tree))
    def draw(value):
        drawn.append(model.validate_python(value))

    draw()

    assert {each.when is None for each in drawn} == {True, False}
    assert any(isinstance(below, Tree) for each in drawn for below in each.below)
    assert {each.colour for each in drawn} == {*Colour}


@pytest.mark.parametrize("status", ["success", "partial", "failed", "blocked"])
def test_every_status_can_be_drawn(status):
    smallest = find(values(), lambda value: value["status"] == status, settings=FIND)

    assert smallest == {"status": status, "summary": "0"}


def test_keys_that_the_schema_does_not_name_are_drawn():
    """It allows them, so an agent may write them."""
    form = {"type": "object", "properties": {"a": {"type": "integer"}}}

    more = find(values(form), lambda value: value.keys() - {"a"}, settings=FIND)

    assert more == {"": None}


def test_error_a_schema_refers_to_another():
    with pytest.raises(InvalidRequest) as caught:
        find(values({"$ref": "https://example.org/a.json"}), lambda _: True)

    assert str(caught.value) == (
        "$ref 'https://example.org/a.json': there is no such part in the schema, and "
        "nothing else is looked for; draw the answers from a strategy of your own: "
        "`strategy.map(answer)`"
    )


def nested(levels):
    form = {"type": "integer"}
    for _ in range(levels):
        form = {"type": "object", "required": ["a"], "properties": {"a": form}}
    return form


DEEP = {"type": "array"}
for key in "dcb":
    DEEP = {"type": "object", "required": [key], "properties": {key: DEEP}}


# What broke the drawing itself, or was never drawn.
DRAWN = {
    "draft 7 tuple": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "array",
            "items": [{"type": "integer"}, {"type": "string"}],
            "additionalItems": False,
            "minItems": 2,
        },
        [0, ""],
    ),
    "draft 7 dependencies": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "dependencies": {"a": ["b"]},
            "required": ["a"],
        },
        {"a": None, "b": None},
    ),
    "dependent schemas": (
        {
            "type": "object",
            "required": ["a"],
            "dependentSchemas": {"a": {"required": ["b"]}},
        },
        {"a": None, "b": None},
    ),
    "two dependencies": (
        {
            "type": "object",
            "required": ["a"],
            "allOf": [
                {"dependentRequired": {"a": ["b"]}},
                {"dependentRequired": {"a": ["c"]}},
                {"dependentSchemas": {"a": {"required": ["d"]}}},
                {"dependentSchemas": {"a": {"required": ["e"]}}},
            ],
        },
        dict.fromkeys("abcde"),
    ),
    "two draft 7 dependencies": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "required": ["a"],
            "allOf": [
                {"dependencies": {"a": ["b"]}},
                {"dependencies": {"a": {"required": ["c"]}}},
            ],
        },
        dict.fromkeys("abc"),
    ),
    "two choices": (
        {
            "type": "object",
            "allOf": [
                {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
                {"anyOf": [{"required": ["c"]}, {"required": ["d"]}]},
            ],
        },
        {"a": None, "c": None},
    ),
    "named group": ({"type": "string", "pattern": r"^(?<year>\d{4})$"}, "0000"),
    "anchor": ({"$ref": "#n", "$defs": {"a": {"$anchor": "n", "const": 3}}}, 3),
    "escaped": ({"$ref": "#/$defs/a%20b", "$defs": {"a b": {"const": 3}}}, 3),
    "a name, an object and others": (
        {
            "type": "object",
            "propertyNames": {"enum": [{"b": 1}, 2, None, "a"]},
            "minProperties": 1,
        },
        {"a": None},
    ),
    "named group of a key": (
        {
            "type": "object",
            "patternProperties": {"^(?<x>a)$": {"const": 1}},
            "additionalProperties": False,
            "minProperties": 1,
        },
        {"a": 1},
    ),
    "no item in a short list": (
        {
            "type": "array",
            "items": {"type": "string", "maxLength": 0, "minLength": 1},
            "maxItems": 3,
        },
        [],
    ),
    "counts with a point": (
        {
            "type": "array",
            "contains": {"const": 1},
            "minContains": 2.0,
            "minItems": 3.0,
            "items": {"type": "integer"},
        },
        [1, 1, 0],
    ),
    "far bounds": ({"type": "number", "minimum": -(10**400), "maximum": 0}, 0),
    "two lower bounds": (
        {"type": "number", "minimum": 0, "exclusiveMinimum": 3, "maximum": 4},
        4,
    ),
    "long": ({"type": "array", "items": {"type": "integer"}, "minItems": 90}, [0] * 90),
    "deep": (nested(30), json.loads('{"a":' * 30 + "0" + "}" * 30)),
}


@pytest.mark.parametrize(("form", "smallest"), DRAWN.values(), ids=DRAWN)
def test_what_is_seldom_asked_is_drawn_too(form, smallest):
    assert schema_values.smallest(form) == smallest
    assert problem_of(form, smallest) is None


# Edges that a program may not think of, each of them valid.
EDGES = {
    "number without a point": ({"type": "number"}, lambda v: type(v) is int),
    "integer with a point": ({"type": "integer"}, lambda v: type(v) is float),
    "far below": ({"type": "integer"}, lambda v: v < -(2**62)),
    "at its bound": ({"type": "integer", "maximum": 99}, lambda v: v == 99),
    "null": (dt.date | None, lambda v: v is None),
    "float of any kind": (
        {"type": "object"},
        lambda v: any(isinstance(each, float) for each in v.values()),
    ),
    "a list that is not empty, in the depth": (
        {"type": "object", "required": ["a"], "properties": {"a": DEEP}},
        lambda v: v["a"]["b"]["c"]["d"],
    ),
}


@pytest.mark.parametrize(("form", "is_there"), EDGES.values(), ids=EDGES)
def test_an_edge_is_drawn(form, is_there):
    often = settings(FIND, max_examples=2_000, phases=[Phase.generate])

    assert is_there(find(values(form), is_there, settings=often))


@pytest.mark.parametrize(
    "form",
    [
        pytest.param({"type": "integer", "minimum": 5, "maximum": 4}, id="bounds"),
        pytest.param({"allOf": [{"type": "null"}, {"type": "string"}]}, id="types"),
        pytest.param({"enum": []}, id="no value"),
        pytest.param({"type": "string", "minLength": 3, "maxLength": 2}, id="lengths"),
        pytest.param({"type": "integer", "minimum": 10**30}, id="too large to write"),
        pytest.param({"type": "string", "minLength": 10**6}, id="too long to draw"),
        pytest.param(
            {"type": "object", "propertyNames": {"const": {}}, "minProperties": 1},
            id="no name",
        ),
        pytest.param({"type": "array", "contains": False}, id="no item"),
        pytest.param({"$ref": "#"}, id="a circle"),
    ],
)
def test_error_nothing_is_allowed(form):
    """Else a test would pass that has never seen an answer."""
    with pytest.raises(InvalidRequest) as caught:
        values(form)

    assert str(caught.value) == (
        f"no answer was found that the schema allows: {json.dumps(form)}; draw the "
        "answers from a strategy of your own: `strategy.map(answer)`"
    )


def test_error_a_pattern_that_python_does_not_know():
    with pytest.raises(InvalidRequest) as caught:
        values({"type": "string", "pattern": r"^\p{L}+$"})

    assert str(caught.value) == (
        r"pattern '^\\p{L}+$': no text can be drawn from what Python cannot read (bad "
        r"escape \p at position 1); draw the answers from a strategy of your own: "
        "`strategy.map(answer)`"
    )
