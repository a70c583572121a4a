"""Compile a JSON Schema to the grammar that decoding enforces.

Whatever satisfies the grammar satisfies the schema, with one space after each colon and
comma. `agent_loop.reply_schema` has limited what the schema leaves open.

Source: llguidance, docs/json_schema.md; it refuses what it cannot enforce.
"""

import json
from typing import Any

from llguidance import LLMatcher

# The schema's own `x-guidance` cannot change these.
_FORM: Any = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "coerce_one_of": False,
    "lenient": False,
}


class ShapeRefused(Exception):
    """The schema cannot be compiled; the message says why."""


def grammar_of(schema: dict[str, Any]) -> str:
    """The grammar of a valid JSON Schema.

    Raises:
        ShapeRefused: decoding cannot enforce it.
    """
    grammar = LLMatcher.grammar_from_json_schema(json.dumps(schema), overrides=_FORM)
    refused = LLMatcher.validate_grammar(grammar)
    if refused and not refused.startswith("WARNING"):
        raise ShapeRefused(f"the schema cannot be compiled: {refused}")
    return grammar


def problem_of_shape(schema: dict[str, Any]) -> str | None:
    """Why decoding cannot enforce a schema; None if it can."""
    try:
        grammar_of(schema)
    except ShapeRefused as exc:
        return str(exc)
    return None
