"""What is drawn from a schema: valid by another reader too, and of every kind."""

import datetime as dt
from enum import Enum
from typing import Annotated, Literal, Union

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, TypeAdapter

from bridge.api.result import schema_of
from bridge.protocol.agent_output import ANSWER_SCHEMA
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


def an_object(**more):
    return {"type": "object", **more}


def a_list(**more):
    return {"type": "array", **more}


INTEGER, TEXT = {"type": "integer"}, {"type": "string"}
NODE = {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}
NESTED = {"node": an_object(required=["next"], properties={"next": NODE})}
SEVEN = {"contains": {"const": 7}, "minItems": 2, "items": INTEGER, "uniqueItems": True}
X_KEYS = {"patternProperties": {"^x_": INTEGER}, "additionalProperties": False}
LETTERS = {"propertyNames": {"pattern": "^[a-z]$"}, "minProperties": 2}
IF = {"if": {"required": ["k"]}, "then": {"required": ["b"]}}
IF |= {"else": {"required": ["c"]}}
A_IS_1_OR_2 = {"properties": {"a": {"enum": [1, 2]}}}
# The smallest value of each, as it is shown of a program that no answer suits.
SMALLEST = {
    "default": (None, {"status": "success", "summary": "0"}),
    "list": (list[Leaf], []),
    "literal": (Literal["yes", "no"], "yes"),
    "number": (int, 0),
    "untyped list": (an_object(required=["a"], properties={"a": a_list()}), {"a": []}),
    "all of": ({"allOf": [an_object(required=["a"]), A_IS_1_OR_2]}, {"a": 1}),
    "contains": (a_list(**SEVEN), [7, 0]),
    "prefix": (a_list(prefixItems=[TEXT], items=False), []),
    "keys by pattern": (an_object(**X_KEYS, minProperties=1), {"x_": 0}),
    "names": (an_object(**LETTERS, maxProperties=3), {"a": None, "b": None}),
    "no name, a list": (an_object(propertyNames={"const": [1]}), {}),
    "no name, a text of no length": (
        an_object(propertyNames={"minLength": 5, "maxLength": 2}),
        {},
    ),
    "if": (an_object(**IF), {"c": None}),
    "recursive": ({"$ref": "#/$defs/node", "$defs": NESTED}, {"next": None}),
    "not": ({"not": {"type": "object"}}, []),
    "multiples": (
        {"type": "number", "multipleOf": 0.5, "minimum": 1, "maximum": 4},
        1.0,
    ),
    "one of": ({"oneOf": [INTEGER | {"minimum": 0}, TEXT | {"minLength": 1}]}, 0),
    "anything": ({"$defs": {}}, {}),
}
HOW = {"database": None, "deadline": None, "phases": [Phase.generate]}
QUICK = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], **HOW)
# Enough to come across what is looked for, whatever the seed.
OFTEN = settings(max_examples=2_000, **HOW)
FIND = settings(OFTEN, phases=[Phase.generate, Phase.shrink])


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

    @settings(OFTEN, max_examples=200)
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


DEEP = {"type": "array"}
for key in "dcb":
    DEEP = {"type": "object", "required": [key], "properties": {key: DEEP}}


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
    assert is_there(find(values(form), is_there, settings=OFTEN))
