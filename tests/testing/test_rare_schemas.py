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
INTEGER = {"type": "integer"}
NO_TEXT = {"type": "string", "maxLength": 0, "minLength": 1}
TUPLE = a_list(items=[INTEGER, {"type": "string"}], additionalItems=False, minItems=2)
ONES = a_list(contains={"const": 1}, minContains=2.0, minItems=3.0, items=INTEGER)
REQUIRES = {name: {"a": {"required": [name]}} for name in "bcde"}
LISTED = {name: {"a": [name]} for name in "bc"}
OF_DRAFT_7 = [{"dependencies": LISTED["b"]}, {"dependencies": REQUIRES["c"]}]
LATER = [{"dependentRequired": LISTED[name]} for name in "bc"]
LATER += [{"dependentSchemas": REQUIRES[name]} for name in "de"]
EITHER = [{"anyOf": [{"required": [name]} for name in pair]} for pair in ("ab", "cd")]
A_AND_B = dict.fromkeys("ab")
NAMES = {"enum": [{"b": 1}, 2, None, "a"]}
GROUP = {"patternProperties": {"^(?<x>a)$": {"const": 1}}, "minProperties": 1}
ABOVE = {"minimum": 0, "exclusiveMinimum": 3, "maximum": 4}
# What broke the drawing itself, or was never drawn.
DRAWN = {
    "draft 7 tuple": (TUPLE | DRAFT_7, [0, ""]),
    "draft 7 dependencies": (an_object(dependencies=LISTED["b"]) | DRAFT_7, A_AND_B),
    "dependent schemas": (an_object(dependentSchemas=REQUIRES["b"]), A_AND_B),
    "two dependencies": (an_object(allOf=LATER), dict.fromkeys("abcde")),
    "two draft 7 dependencies": (
        an_object(allOf=OF_DRAFT_7) | DRAFT_7,
        dict.fromkeys("abc"),
    ),
    "two choices": (an_object("", allOf=EITHER), dict.fromkeys("ac")),
    "named group": ({"type": "string", "pattern": r"^(?<year>\d{4})$"}, "0000"),
    "anchor": ({"$ref": "#n", "$defs": {"a": {"$anchor": "n", "const": 3}}}, 3),
    "escaped": ({"$ref": "#/$defs/a%20b", "$defs": {"a b": {"const": 3}}}, 3),
    "a name, an object and others": (
        an_object("", propertyNames=NAMES, minProperties=1),
        {"a": None},
    ),
    "named group of a key": (
        an_object("", **GROUP, additionalProperties=False),
        {"a": 1},
    ),
    "no item in a short list": (a_list(items=NO_TEXT, maxItems=3), []),
    "counts with a point": (ONES, [1, 1, 0]),
    "far bounds": ({"type": "number", "minimum": -(10**400), "maximum": 0}, 0),
    "a bound of draft 4": (INTEGER | {"minimum": 7, "exclusiveMinimum": True}, 8),
    "two lower bounds": ({"type": "number"} | ABOVE, 4),
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


NOTHING = {
    "bounds": {"type": "integer", "minimum": 5, "maximum": 4},
    "types": {"allOf": [{"type": "null"}, {"type": "string"}]},
    "no value": {"enum": []},
    "lengths": {"type": "string", "minLength": 3, "maxLength": 2},
    "too large to write": {"type": "integer", "minimum": 10**30},
    "too long to draw": {"type": "string", "minLength": 10**6},
    "no name": an_object("", propertyNames={"const": {}}, minProperties=1),
    "no item": {"type": "array", "contains": False},
    "a circle": {"$ref": "#"},
}


@pytest.mark.parametrize("form", NOTHING.values(), ids=NOTHING)
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
