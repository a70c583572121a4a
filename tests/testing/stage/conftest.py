"""What the tests of the stage share: the client, a world for it, requests by hand."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import pytest

from bridge.testing.stage.client import ClientUnavailable, ensure_client

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bridge.testing.stage.api import ScriptedApi


@pytest.fixture(scope="session")
def client_program() -> Path:
    """The real client; skips, and says why, where there can be none."""
    try:
        return ensure_client()
    except ClientUnavailable as missing:
        pytest.skip(str(missing))


@pytest.fixture
def post() -> Callable[..., tuple[int, bytes]]:
    """Send a request by hand: `post(api, body)` gives status and raw answer."""

    def send(
        api: ScriptedApi,
        body: dict[str, Any],
        *,
        path: str = "/v1/messages?beta=true",
        headers: dict[str, str] | None = None,
    ) -> tuple[int, bytes]:
        data = json.dumps({"model": "m", **body}).encode()
        asked = HTTPConnection("127.0.0.1", api.port, timeout=10)
        try:
            asked.request("POST", path, data, headers or {})
            answer = asked.getresponse()
            return answer.status, answer.read()
        finally:
            asked.close()

    return send
