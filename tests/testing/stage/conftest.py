"""What the tests of the stage share: the client, a world for it, requests by hand."""

import json
from http.client import HTTPConnection

import pytest

from bridge.testing.stage.client import ClientUnavailable, Stage, ensure_client


@pytest.fixture(scope="session")
def client_program():
    """The real client; skips, and says why, where there can be none."""
    try:
        return ensure_client()
    except ClientUnavailable as missing:
        pytest.skip(str(missing))


@pytest.fixture
def stage_at(tmp_path, client_program):
    """A world for the client that asks this API."""

    def stage_at(api, **extra_env):
        return Stage(tmp_path, api, program=client_program, extra_env=extra_env)

    return stage_at


@pytest.fixture
def post():
    """Send a request by hand: `post(api, body)` gives status and raw answer."""

    def send(api, body, *, path="/v1/messages?beta=true", headers=None):
        data = json.dumps({"model": "m", **body}).encode()
        asked = HTTPConnection("127.0.0.1", api.port, timeout=10)
        try:
            asked.request("POST", path, data, headers or {})
            answer = asked.getresponse()
            return answer.status, answer.read()
        finally:
            asked.close()

    return send
