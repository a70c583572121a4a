"""A schema compiles to a grammar, or is refused with the reason."""

import needs
import pytest

from bridge.agent_loop.reply_schema import call_shape
from bridge.protocol.agent_output import AgentOutput
from bridge.protocol.outcome import Control
from bridge.protocol.request import Request
from bridge.worker.model_executor import ask_tool


@pytest.fixture(autouse=True)
def _extra():
    needs.local_model()


def problem(schema) -> str | None:
    from bridge.llama.grammar import problem_of_shape

    return problem_of_shape(schema)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"not": {"type": "string"}}, 'Unimplemented keys: ["not"]'),
        ({"not": {}, "x-guidance": {"lenient": True}}, 'Unimplemented keys: ["not"]'),
        (
            {"type": "string", "minLength": 3, "maxLength": 2},
            "Unsatisfiable schema: minLength (3) is greater than maxLength (2)",
        ),
    ],
    ids=["unknown", "lenient", "empty"],
)
def test_error_the_schema_cannot_be_compiled(schema, message):
    """It is never enforced in part."""
    assert problem(schema) == f"the schema cannot be compiled: {message}"


def test_the_tool_for_asking_back_can_be_compiled():
    """A model of this machine may ask: its reply is held to the tool's form."""
    request = Request(request_id="a", prompt="p", may_ask=True)

    [tool] = ask_tool(request, Control(0.0, lambda _: None, lambda: False))

    assert problem(call_shape({tool.name: tool.parameters})) is None


def test_the_default_answer_can_be_compiled():
    """Every agent without a schema answers with it."""
    assert problem(AgentOutput.model_json_schema()) is None
