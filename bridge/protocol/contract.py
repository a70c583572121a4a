"""The contract: the text that turns a prompt into a request for a typed answer.

It stands at the end of the prompt, so the agent reads it last.
"""

import json
from typing import Any

from bridge.protocol.agent_output import ANSWER_SCHEMA
from bridge.protocol.digest import sha256_of
from bridge.protocol.question import HOW_TO_ASK
from bridge.protocol.request import Request

# Also marks an echo: no answer has a reason to contain this line.
HEADING = "## How to answer (hostbridge)"

_RULES = """\
A program is waiting for your answer and reads it without a person in between.
Your final message, word for word, is the answer (where a SubagentHandback tool is offered, its message is).
It must be exactly one JSON value that satisfies the JSON Schema below: no prose around it, no second value.
If you cannot do the work, still answer in this form and say why.
"""  # noqa: E501

_AGAIN = (
    "This conversation was compacted. The request that you work on is still open, and "
    "what it said about your answer still holds:"
)
_TOO_LONG = (
    "The schema is too long to be repeated here. Give the answer in the form that you "
    "remember; it is checked, and you are told what is wrong with it.\n"
)

OUTPUT_NOTES = """\
`status` is success, partial, failed or blocked: how the work really ended.
Each `evidence` item that rests on a shell command names it in `command`, letter for letter as you ran it; the calls you made were recorded and are compared.
"""  # noqa: E501 - as above


def prompt_digest(text: str) -> str:
    """The SHA-256 that identifies a full prompt."""
    return sha256_of(text.encode())


def full_prompt(
    prompt: str, schema: dict[str, Any] | None, *, may_ask: bool = False
) -> str:
    """The prompt as the agent gets it: the caller's words, then the contract."""
    rules = _rules(schema, may_ask=may_ask)
    return f"{prompt}\n\n{HEADING}\n\n{rules}\n{_shape(schema)}"


def prompt_for(request: Request) -> str:
    """The whole prompt of a request's agent, for its first or its next turn."""
    return full_prompt(
        request.spoken, request.answer_schema, may_ask=request.is_told_to_ask
    )


def again(
    schema: dict[str, Any] | None, max_chars: int, *, may_ask: bool = False
) -> str:
    """The contract again, for an agent whose conversation was compacted."""
    head = f"{_AGAIN}\n\n{HEADING}\n\n{_rules(schema, may_ask=may_ask)}\n"
    shape = _shape(schema)
    return head + (shape if len(head) + len(shape) <= max_chars else _TOO_LONG)


def _rules(schema: dict[str, Any] | None, *, may_ask: bool) -> str:
    notes = OUTPUT_NOTES if schema is None else ""
    return _RULES + notes + (f"{HOW_TO_ASK}\n" if may_ask else "")


def _shape(schema: dict[str, Any] | None) -> str:
    return f"```json\n{json.dumps(answer_schema(schema), ensure_ascii=False)}\n```\n"


def answer_schema(schema: dict[str, Any] | None) -> dict[str, Any]:
    """The schema an answer must satisfy: the caller's, or AgentOutput's."""
    return ANSWER_SCHEMA if schema is None else schema
