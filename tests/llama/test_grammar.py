"""A schema compiles to a grammar, or is refused with the reason."""

from __future__ import annotations

import needs
import pytest

from bridge.protocol.agent_output import AgentOutput


@pytest.fixture(autouse=True)
def _extra():
    needs.local_model()


def problem(schema) -> str | None:
    from bridge.llama.grammar import problem_of_shape

    return problem_of_shape(schema)


@pytest.mark.parametrize(
    ("schema", "message"),
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
def test_error_the_schema_cannot_be_compiled(schema, message):
    """It is never enforced in part."""
    assert problem(schema) == message


def test_the_default_answer_can_be_compiled():
    """Every agent without a schema answers with it."""
    assert problem(AgentOutput.model_json_schema()) is None
