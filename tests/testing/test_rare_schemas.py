"""Schemas that are seldom written, and those from which nothing can be drawn."""

import json

import pytest
from hypothesis import find

from bridge.errors import InvalidRequest
from bridge.protocol.json_schema import problem_of
from bridge.testing import schema_values, values


def nested(levels):
    form = {"type": "integer"}
    for _ in range(levels):
        form = {"type": "object", "required": ["a"], "properties": {"a": form}}
    return form


def an_object(required="a", **more):
    return {"type": "object", "required": [*required], **more}


def a_list(**more):
    return {"type": "array", **more}


DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}
INTEGER, NO_TEXT = (
    {"type": "integer"},
    {"type": "string", "maxLength": 0, "minLength": 1},
)
NEEDS_B, NEEDS_C = {"a": ["b"]}, {"a": ["c"]}
# What broke the drawing itself, or was never drawn.
DRAWN = {
    "draft 7 tuple": (
        a_list(items=[INTEGER, {"type": "string"}], additionalItems=False, minItems=2)
        | DRAFT_7,
        [0, ""],
    ),
    "draft 7 dependencies": (
        an_object(dependencies=NEEDS_B) | DRAFT_7,
        {"a": None, "b": None},
    ),
    "dependent schemas": (
        an_object(dependentSchemas={"a": {"required": ["b"]}}),
        {"a": None, "b": None},
    ),
    "two dependencies": (
        an_object(
            allOf=[
                {"dependentRequired": NEEDS_B},
                {"dependentRequired": NEEDS_C},
                {"dependentSchemas": {"a": {"required": ["d"]}}},
                {"dependentSchemas": {"a": {"required": ["e"]}}},
            ]
        ),
        dict.fromkeys("abcde"),
    ),
    "two draft 7 dependencies": (
        an_object(
            allOf=[
                {"dependencies": NEEDS_B},
                {"dependencies": {"a": {"required": ["c"]}}},
            ]
        )
        | DRAFT_7,
        dict.fromkeys("abc"),
    ),
    "two choices": (
        an_object(
            "",
            allOf=[
                {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
                {"anyOf": [{"required": ["c"]}, {"required": ["d"]}]},
            ],
        ),
        {"a": None, "c": None},
    ),
    "named group": ({"type": "string", "pattern": r"^(?<year>\d{4})$"}, "0000"),
    "anchor": ({"$ref": "#n", "$defs": {"a": {"$anchor": "n", "const": 3}}}, 3),
    "escaped": ({"$ref": "#/$defs/a%20b", "$defs": {"a b": {"const": 3}}}, 3),
    "a name, an object and others": (
        an_object(
            "", propertyNames={"enum": [{"b": 1}, 2, None, "a"]}, minProperties=1
        ),
        {"a": None},
    ),
    "named group of a key": (
        an_object(
            "",
            patternProperties={"^(?<x>a)$": {"const": 1}},
            additionalProperties=False,
            minProperties=1,
        ),
        {"a": 1},
    ),
    "no item in a short list": (a_list(items=NO_TEXT, maxItems=3), []),
    "counts with a point": (
        a_list(contains={"const": 1}, minContains=2.0, minItems=3.0, items=INTEGER),
        [1, 1, 0],
    ),
    "far bounds": ({"type": "number", "minimum": -(10**400), "maximum": 0}, 0),
    "two lower bounds": (
        {"type": "number", "minimum": 0, "exclusiveMinimum": 3, "maximum": 4},
        4,
    ),
    "long": (a_list(items=INTEGER, minItems=90), [0] * 90),
    "deep": (nested(30), json.loads('{"a":' * 30 + "0" + "}" * 30)),
}


@pytest.mark.parametrize(("form", "smallest"), DRAWN.values(), ids=DRAWN)
def test_what_is_seldom_asked_is_drawn_too(form, smallest):
    assert schema_values.smallest(form) == smallest
    assert problem_of(form, smallest) is None


OWN = "; draw the answers from a strategy of your own: `strategy.map(answer)`"


def test_error_a_schema_refers_to_another():
    with pytest.raises(InvalidRequest) as caught:
        find(values({"$ref": "https://example.org/a.json"}), lambda _: True)

    assert str(caught.value) == (
        "$ref 'https://example.org/a.json': there is no such part in the schema, and "
        f"nothing else is looked for{OWN}"
    )


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
            an_object("", propertyNames={"const": {}}, minProperties=1), id="no name"
        ),
        pytest.param({"type": "array", "contains": False}, id="no item"),
        pytest.param({"$ref": "#"}, id="a circle"),
    ],
)
def test_error_nothing_is_allowed(form):
    """Else a test would pass that has never seen an answer."""
    with pytest.raises(InvalidRequest) as caught:
        values(form)

    why = f"no answer was found that the schema allows: {json.dumps(form)}"
    assert str(caught.value) == f"{why}{OWN}"


def test_error_a_pattern_that_python_does_not_know():
    with pytest.raises(InvalidRequest) as caught:
        values({"type": "string", "pattern": r"^\p{L}+$"})

    assert str(caught.value) == (
        r"pattern '^\\p{L}+$': no text can be drawn from what Python cannot read (bad "
        rf"escape \p at position 1){OWN}"
    )
