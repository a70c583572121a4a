"""The innermost part of a schema that decoding cannot enforce."""

import re
from ipaddress import IPv6Network
from pathlib import Path
from typing import Literal
from uuid import UUID

import pytest
from pydantic import SecretStr, TypeAdapter

pytest.importorskip("llguidance")

from bridge.agent_loop.reply_schema import FORMATS
from bridge.llama.grammar import problem_of_shape
from bridge.llama.unsupported_schema import find_problem

BEHIND = {"type": "string", "pattern": "(?<=a)b"}
TEXT, OF_X = {"type": "string"}, {"$ref": "#/$defs/X"}
PLACES = {
    "property": ({"properties": {"ok": TEXT, "a": BEHIND}}, ("a",)),
    "item": ({"properties": {"a": {"type": "array", "items": BEHIND}}}, ("a", "items")),
    "choice": ({"properties": {"a": {"anyOf": [TEXT, BEHIND]}}}, ("a", "anyOf", 1)),
    "reference": ({"properties": {"a": OF_X}, "$defs": {"X": BEHIND}}, ("a",)),
    "reference-to-a-property": (
        {"properties": {"b": {"$ref": "#/properties/a"}, "a": BEHIND}},
        ("a",),
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_the_innermost_part_is_found(name):
    schema, way = PLACES[name]

    where, why = find_problem({"type": "object", **schema})

    assert where == ("properties", *way)
    assert "look-behind, is not supported" in why


TYPES = (
    set[int], frozenset[str], Path, bytes, SecretStr, re.Pattern, IPv6Network,
    dict[UUID, int], dict[Literal["a"], int],
)  # fmt: skip


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_ordinary_types_can_be_asked_for(kind):
    """What decoding cannot enforce of them is checked afterwards."""
    schema = {"type": "object", "properties": {"a": TypeAdapter(kind).json_schema()}}

    assert find_problem(schema) is None


def test_each_format_that_is_not_left_to_the_check_can_be_enforced():
    known = [{"type": "string", "format": name} for name in sorted(FORMATS)]

    assert [problem_of_shape(each) for each in known] == [None] * len(known)


JOINED = {
    "not": {"required": ["a"]},
    "if": {"required": ["a"]},
    "then": {"required": ["b"], "properties": {"c": {"type": "integer"}}},
    "else": False,
    "dependentSchemas": {"a": {"required": ["b"]}},
    "dependencies": {"a": ["b"]},
    "unevaluatedProperties": False,
}


def test_what_other_parts_forbid_is_left_to_the_check():
    """It is checked in any case: nobody need be refused for it."""
    assert find_problem({"type": "object", "properties": {"a": TEXT}} | JOINED) is None


def test_the_whole_schema_if_no_part_fails_by_itself():
    found = find_problem({"type": "object", "$dynamicRef": "#a"})

    assert found is not None
    assert found[0] == ()


def test_nothing_is_found_in_a_usable_schema():
    """Not even in a definition that nothing refers to."""
    assert find_problem({"type": "object", "$defs": {"X": BEHIND}}) is None


def test_the_limits_of_a_reply_count():
    """The schema alone compiles; with limits for all texts it does not."""
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": OF_X | {"minLength": 4001}},
        "$defs": {"X": TEXT},
    }

    assert problem_of_shape(schema) is None
    why = (
        "the schema cannot be compiled: Unsatisfiable schema: minLength (4001) is "
        "greater than maxLength (4000)"
    )
    assert find_problem(schema) == (("properties", "a"), why)


def test_a_reference_that_is_lost_in_a_call():
    """In a call the schema is in another place, where its anchors do not count."""
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#word"}},
        "$defs": {"X": {"$anchor": "word", **TEXT}},
    }

    assert problem_of_shape(schema) is None
    assert find_problem(schema)[0] == ("properties", "a")
