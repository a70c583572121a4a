"""Which question a request asks: by this an earlier answer is found. Pure.

Whatever changes what the answer means, or who may give it, is part of it; deadline,
priority and number of attempts are not (`protocol.dedup`).
"""

from __future__ import annotations

from bridge.protocol import plain_json
from bridge.protocol.dedup import QUESTION, asked_in
from bridge.protocol.digest import sha256_of
from bridge.protocol.request import Request
from bridge.protocol.response import Route


def digest_of(request: Request, route: Route) -> str:
    """The SHA-256 of the question, with its definition applied, as a route gets it."""
    asked = {field: asked_in(field, request) for field in QUESTION}
    definition = request.definition
    asked["definition"] = definition and [definition.digest, definition.prompt]
    asked["route"] = route
    return sha256_of(plain_json.dumps(asked, sort_keys=True))
