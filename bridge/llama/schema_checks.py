"""Whether a schema is one, and whether a reply satisfies it: checked on our side.

Decoding was held to the schema; here another library says whether it was, in a process
whose memory llama.cpp cannot have touched. And the worker need not load that library:
this process has it, and would wait meanwhile.
"""

from __future__ import annotations

import json
from typing import Any

from bridge.agent_loop.chat_model import ModelFailed
from bridge.protocol.json_schema import problem_of, problem_of_schema


def check_schema(schema: dict[str, Any]) -> None:
    """Let a JSON Schema pass; raises `ModelFailed`, AGENT_001."""
    problem = problem_of_schema(schema)
    if problem is not None:
        raise ModelFailed("AGENT_001", f"not a JSON Schema: {problem}")


def check_reply(schema: dict[str, Any], text: str) -> None:
    """Let a reply pass that satisfies its schema; raises `ModelFailed`, AGENT_003."""
    try:
        problem = problem_of(schema, json.loads(text))
    except (ValueError, RecursionError) as exc:
        problem = f"not JSON: {exc}"
    if problem is not None:
        raise ModelFailed("AGENT_003", f"the reply does not satisfy it: {problem}")
