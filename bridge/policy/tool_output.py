"""What a tool call gave back, as step workflows ask about it. Pure.

Hooks read this at the standard library's level. The client tells a result in the form
of each tool: a mapping for most of its own, content blocks for those of MCP servers,
whose text is often JSON. A tool of ours answers with JSON, so that `tool_output.passed`
means what it says.

Source: measured on Claude Code 2.1.330, PostToolUse and PostToolUseFailure.
"""

from __future__ import annotations

import json
import re

from bridge.policy.tool_classes import is_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

FAILURE = "PostToolUseFailure"
_HUMP = re.compile(r"(?<=[a-z])[A-Z]")
_ENDS = frozenset({"PostToolUse", FAILURE})


def output_of(fields: Json) -> Any:
    """The result of the call that an event of the client's is about.

    A call that failed gives `{"error": TEXT}`; an event that is no end of a call None.
    """
    event = fields.get("hook_event_name")
    if event not in _ENDS:
        return None
    if event == FAILURE:
        return {"error": fields.get("error")}
    response = fields.get("tool_response")
    tool = str(fields.get("tool_name"))
    if not tool.startswith("mcp__"):
        return response
    found = _of_server(response)
    return with_old_names(found) if is_own(tool) else found


def with_old_names(value: Any) -> Any:
    """The result of a tool of ours, its fields by their earlier names, too.

    Conditions of public files ask for `is_expanded`, where JSON has `isExpanded`.
    """
    if isinstance(value, list):
        return [with_old_names(each) for each in value]
    if not isinstance(value, dict):
        return value
    named = {name: with_old_names(each) for name, each in value.items()}
    earlier = {
        _HUMP.sub(r"_\g<0>", name).lower(): each
        for name, each in named.items()
        if _HUMP.search(name)
    }
    return earlier | named


def _of_server(response: Any) -> Any:
    """The result of an MCP tool: its structured content, or else its text."""
    if isinstance(response, dict):
        if response.get("structuredContent") is not None:
            return response["structuredContent"]
        if not isinstance(response.get("content"), list):
            return response
        response = response["content"]
    if isinstance(response, str):
        return _parsed(response)
    if not isinstance(response, list):
        return response
    texts = [text for each in response if (text := _text_of(each)) is not None]
    return _parsed(texts[0]) if len(texts) == 1 else [_parsed(text) for text in texts]


def _text_of(block: Any) -> str | None:
    text = block.get("text") if isinstance(block, dict) else None
    return text if isinstance(text, str) else None


def _parsed(text: str) -> Any:
    """The JSON object or list that a text is, or else the text itself."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
