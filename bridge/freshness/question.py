"""Which question a request asks: by this an earlier answer is found. Pure.

Whatever changes what the answer means, or who may give it, is part of it; deadline,
priority and number of attempts are not. `protocol.dedup` has the same fields.
"""

from __future__ import annotations

from bridge.protocol import plain_json
from bridge.protocol.digest import sha256_of
from bridge.protocol.request import Request
from bridge.protocol.response import Route

_FIELDS = (
    "agent_type", "model", "prompt", "arguments", "variables", "context",
    "answer_schema", "session", "task_id", "workflow", "folder", "continues",
    "context_from",
)  # fmt: skip


def digest_of(request: Request, route: Route) -> str:
    """The SHA-256 of the question, with its definition applied, as a route gets it."""
    data = request.to_data()
    asked = {name: data[Request.fields[name].json_name] for name in _FIELDS}
    node, definition = request.node, request.definition
    # Not its line, which changes above it.
    asked["node"] = node and [node.file, node.type, node.name, node.text]
    asked["definition"] = definition and [definition.digest, definition.prompt]
    asked["route"] = route
    return sha256_of(plain_json.dumps(asked, sort_keys=True))
