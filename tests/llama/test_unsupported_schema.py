"""The place of what a model cannot be held to: the innermost part that is to blame."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("llguidance")

from bridge.llama.grammar import problem_of_shape
from bridge.llama.unsupported_schema import find_problem

BEHIND = {"type": "string", "pattern": "(?<=a)b"}
PLACES: dict[str, tuple[dict[str, Any], tuple[str | int, ...]]] = {
    "property": ({"properties": {"ok": {"type": "string"}, "a": BEHIND}}, ("a",)),
    "item": (
        {"properties": {"a": {"type": "array", "items": BEHIND}}},
        ("a", "items"),
    ),
    "choice": (
        {"properties": {"a": {"anyOf": [{"type": "string"}, BEHIND]}}},
        ("a", "anyOf", 1),
    ),
    "reference": (
        {"properties": {"a": {"$ref": "#/$defs/X"}}, "$defs": {"X": BEHIND}},
        ("a",),
    ),
    "a reference that only the whole has": (
        {"properties": {"b": {"$ref": "#/properties/a"}, "a": BEHIND}},
        ("a",),
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_the_innermost_part_is_blamed(name: str) -> None:
    schema, way = PLACES[name]

    found = find_problem({"type": "object", **schema})

    assert found is not None
    assert found[0] == ("properties", *way)
    assert "look-behind, is not supported" in found[1]


def test_the_whole_is_blamed_where_no_part_is() -> None:
    found = find_problem({"type": "object", "not": {"required": ["a"]}})

    assert found == ((), 'the schema cannot be compiled: Unimplemented keys: ["not"]')


def test_nothing_is_blamed_where_all_is_in_order() -> None:
    """Not even what nothing refers to."""
    assert find_problem({"type": "object", "$defs": {"X": BEHIND}}) is None


TEXT = {"type": "string"}


def test_the_limits_of_a_reply_count() -> None:
    """The schema alone compiles; with a limit for every text it does not."""
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"$ref": "#/$defs/X", "minLength": 4001}},
        "$defs": {"X": TEXT},
    }

    assert problem_of_shape(schema) is None
    why = (
        "the schema cannot be compiled: Unsatisfiable schema: minLength (4001) is "
        "greater than maxLength (4000)"
    )
    assert find_problem(schema) == (("properties", "a"), why)


def test_a_reference_that_only_the_schema_alone_has() -> None:
    """In a call it stands elsewhere; what it was called by is gone."""
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#word"}},
        "$defs": {"X": {"$anchor": "word", **TEXT}},
    }

    found = find_problem(schema)

    assert problem_of_shape(schema) is None
    assert found is not None
    assert found[0] == ("properties", "a")
