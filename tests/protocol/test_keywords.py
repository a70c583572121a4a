"""Misspelt keywords in a caller's schema."""

import jsonschema
import pytest

from bridge.protocol.agent_output import ANSWER_SCHEMA, AgentOutput
from bridge.protocol.keywords import KEYWORDS, constrains_nothing, misspelt_keywords


@pytest.mark.parametrize("draft", ["4", "6", "7", "201909", "202012"])
def test_every_keyword_of_a_validator_is_known(draft):
    validator = getattr(jsonschema, f"Draft{draft}Validator")

    assert set(validator.VALIDATORS) <= KEYWORDS


NO_TPYE = "JSON Schema has no keyword 'tpye'; did you mean 'type'?"
CASES = {
    "alone": ({"tpye": "object"}, [f"$: {NO_TPYE}"]),
    "alone, like nothing": ({"foo": 1}, ["$: JSON Schema has no keyword 'foo'"]),
    "beside known ones": (
        {"type": "object", "requierd": ["a"]},
        ["$: JSON Schema has no keyword 'requierd'; did you mean 'required'?"],
    ),
    "deep inside": (
        {"properties": {"tpye": {"anyOf": [{}, {"items": {"tpye": "string"}}]}}},
        [f"$.properties.tpye.anyOf[1].items: {NO_TPYE}"],
    ),
    "a property": ({"properties": {"tpye": True}, "required": ["tpye"]}, []),
    "so may data": ({"const": {"tpye": 1}, "default": {"tpye": 1}}, []),
    "what other tools know": ({"type": "string", "x-order": 1, "nullable": True}, []),
    "anything": ({}, []),
    "no schemas": ({"properties": 5, "x-y": {"tpye": 1}, "items": "tpye"}, []),
}


@pytest.mark.parametrize(("schema", "problems"), CASES.values(), ids=CASES)
def test_misspelt_keywords(schema, problems):
    assert list(misspelt_keywords(schema)) == problems


@pytest.mark.parametrize("schema", [ANSWER_SCHEMA, AgentOutput.model_json_schema()])
def test_our_own_schemas_have_no_misspelt_keyword(schema):
    assert list(misspelt_keywords(schema)) == []
    assert not constrains_nothing(schema)


@pytest.mark.parametrize(
    ("schema", "nothing"),
    [({}, False), ({"title": "x"}, False), ({"tpye": "x"}, True), ({"x-y": 1}, True)],
)
def test_a_schema_of_unknown_keywords_constrains_nothing(schema, *, nothing):
    assert constrains_nothing(schema) is nothing
