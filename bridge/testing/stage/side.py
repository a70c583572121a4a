"""Default answers to what the client asks on the side.

- A request that forces a tool gets a call of it, one that wants JSON gets JSON, both
  with the smallest value that fits the schema.
- Auto mode's reviews, which ask for `<severity>` or `<block>`, find nothing wrong.
- A conversation to compact gets a summary of two words.
- Anything else gets "ok".
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bridge.testing.stage.replies import Reply, reply, tool_use

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.testing.stage.turns import ApiRequest

_SMALLEST = {"boolean": False, "integer": 0, "number": 0, "array": [], "null": None}


def side_answer(request: ApiRequest) -> Reply:
    """Answer one side request harmlessly."""
    if (tool := _forced_tool(request)) is not None:
        return reply(tool_use(str(tool["name"]), smallest(tool["input_schema"])))
    wanted = (request.body.get("output_config") or {}).get("format") or {}
    if "schema" in wanted:
        return reply(json.dumps(smallest(wanted["schema"])))
    if request.is_summary:
        return reply("<analysis>none</analysis>\n<summary>a stage</summary>")
    for tag, calm in (("severity", "0"), ("block", "no")):
        if f"<{tag}>" in request.newest_text:
            return reply(f"<{tag}>{calm}</{tag}>")
    return reply("ok")


def smallest(schema: Mapping[str, Any]) -> Any:
    """Return a small value that fits a plain JSON schema."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        required = schema.get("required") or []
        known = schema.get("properties") or {}
        return {name: smallest(known.get(name, {})) for name in required}
    return _SMALLEST.get(kind, "stage")


def _forced_tool(request: ApiRequest) -> Mapping[str, Any] | None:
    choice = request.body.get("tool_choice") or {}
    for tool in request.body.get("tools") or []:
        if choice.get("type") == "tool" and tool.get("name") == choice.get("name"):
            return dict(tool)
    return None
