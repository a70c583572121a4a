"""Requests and answers to judge."""

import json
from typing import Any

from bridge.protocol.request import Request

GOOD = {"status": "success", "summary": "all of them"}
NUMBER = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}


def asked(schema: dict[str, Any] | None = None, prompt: str = "Which?") -> Request:
    return Request(request_id="a", prompt=prompt, schema=schema)


def said(value: object) -> str:
    return json.dumps(value)
