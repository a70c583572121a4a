"""What the tests of the stage share: the client, a world for it, requests by hand."""

import json
from http.client import HTTPConnection

import needs
import pytest

from bridge.testing.stage.client import Stage


@pytest.fixture
def stage_at(tmp_path):
    """A world for the client that asks this API."""

    def stage_at(api, **extra_env):
        return Stage(tmp_path, api, program=needs.client(), extra_env=extra_env)

    return stage_at


@pytest.fixture
def post():
    """Send a request by hand: `post(api, body)` gives status and raw answer."""

    def send(api, body, *, path="/v1/messages?beta=true"):
        data = json.dumps({"model": "m", **body}).encode()
        asked = HTTPConnection("127.0.0.1", api.port, timeout=10)
        try:
            asked.request("POST", path, data)
            answer = asked.getresponse()
            return answer.status, answer.read()
        finally:
            asked.close()

    return send
