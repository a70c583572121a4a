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


@pytest.mark.parametrize(
    ("part", "small", "large"),
    [
        ({"minLength": 121}, "minLength (121) is greater than maxLength (120)", None),
        (
            {"minLength": 2001},
            "minLength (2001) is greater than maxLength (120)",
            "minLength (2001) is greater than maxLength (2000)",
        ),
    ],
    ids=["for a small model", "for any"],
)
def test_what_a_reply_is_held_to_is_looked_at(
    part: dict[str, Any], small: str | None, large: str | None
) -> None:
    """With ends where there are none: the schema alone is in order here."""
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"$ref": "#/$defs/X", **part}},
        "$defs": {"X": TEXT},
    }

    told = [find_problem(schema, is_small=is_small) for is_small in (True, False)]

    before = "the schema cannot be compiled: Unsatisfiable schema: "
    assert told == [
        said and (("properties", "a"), f"{before}{said}") for said in (small, large)
    ]
    assert problem_of_shape(schema) is None


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
