"""A schema as a grammar: closed where it is open, refused where it cannot be held."""

from __future__ import annotations

import needs
import pytest

from bridge.protocol.agent_output import AgentOutput


@pytest.fixture(autouse=True)
def _extra():
    needs.local_model()


def narrowed(schema):
    from bridge.llama.grammar import narrowed

    return narrowed(schema)


def problem(schema) -> str | None:
    from bridge.llama.grammar import problem_of_shape

    return problem_of_shape(schema)


def test_what_is_open_is_closed():
    """A small model fills what is open until its tokens are used up."""
    schema = {
        "type": "object",
        "properties": {
            "free": {"type": "string"},
            "short": {"type": "string", "maxLength": 5},
            "long": {"type": "string", "minLength": 9000},
            "code": {"type": "string", "pattern": "^[a-z]+$"},
            "all": {"type": "array", "items": {"type": ["string", "null"]}},
            "map": {"type": "object"},
        },
    }

    assert narrowed(schema) == {
        "type": "object",
        "properties": {
            "free": {"type": "string", "maxLength": 4000},
            "short": {"type": "string", "maxLength": 5},
            "long": {"type": "string", "minLength": 9000, "maxLength": 9000},
            "code": {"type": "string", "pattern": "^[a-z]+$"},
            "all": {
                "type": "array",
                "items": {"type": ["string", "null"], "maxLength": 4000},
                "maxItems": 64,
            },
            "map": {"type": "object"},
        },
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "joined",
    [
        {"allOf": [{"type": "object", "properties": {"a": {}}}, {"properties": {}}]},
        {"properties": {"a": {}}, "anyOf": [{"type": "object", "properties": {}}]},
        {"$ref": "#/$defs/x", "required": ["a"], "$defs": {"x": {"type": "object"}}},
    ],
    ids=["allOf", "anyOf beside properties", "$ref beside required"],
)
def test_what_several_schemas_say_about_one_object_stays_open(joined):
    """Closed to what one of them names, it would allow nothing."""
    whole = {"type": "object", "properties": {"x": joined}}

    assert "additionalProperties" not in str(narrowed(whole))


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (
            {"not": {"type": "string"}},
            'the schema cannot be compiled: Unimplemented keys: ["not"]',
        ),
        (
            {"not": {}, "x-guidance": {"lenient": True}},
            'the schema cannot be compiled: Unimplemented keys: ["not"]',
        ),
        (
            {"type": "string", "minLength": 3, "maxLength": 2},
            (
                "the schema cannot be compiled: Unsatisfiable schema: minLength (3) "
                "is greater than maxLength (2)"
            ),
        ),
    ],
    ids=["unknown", "lenient", "empty"],
)
def test_error_schema_cannot_be_held(schema, told):
    """It is refused with the reason, never held to in part."""
    assert problem(schema) == told


def test_the_default_answer_can_be_held():
    """Every agent without a schema answers in this one."""
    assert problem(AgentOutput.model_json_schema()) is None
