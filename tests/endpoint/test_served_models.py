"""Without a named model, the server is asked which ones it has."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scripted_server import settings

from bridge.agent_loop.chat_model import ModelFailed
from bridge.endpoint.served_models import model_in_use, served_models


def test_the_only_one_is_taken(server):
    server.served = ["qwen3:4b"]

    assert model_in_use(settings(server.url)) == "qwen3:4b"


def test_the_configured_one_goes_first():
    """Then nothing is sent."""
    chosen = replace(settings("http://127.0.0.1:9/v1"), openai_model="m")

    assert model_in_use(chosen) == "m"


MUTE = "the server does not say which models it has "
HOW = "name one: --model openai:NAME, or BRIDGE_OPENAI_MODEL"
MANY = [f"m{number}" for number in range(13)]


@pytest.mark.parametrize(
    ("served", "code", "message"),
    [
        (["a", "b"], "model_unavailable", "URL has several models: a, b; " + HOW),
        (
            MANY,
            "model_unavailable",
            f"URL has several models: {', '.join(MANY[:12])}, …; {HOW}",
        ),
        ([], "model_unavailable", "URL has no model: load one first"),
        (None, "model_unavailable", f"{MUTE}(HTTP 404: no such page); {HOW}"),
        (
            ["odd"],
            "agent_error",
            f"{MUTE}(URL/models does not have the form of the API); {HOW}",
        ),
    ],
    ids=["several", "many", "none", "unknown", "odd"],
)
def test_error_no_single_model(server, served, code, message):
    server.served = served

    with pytest.raises(ModelFailed) as caught:
        model_in_use(settings(server.url))

    assert caught.value.code == code
    assert str(caught.value) == message.replace("URL", server.url)


def test_error_no_server():
    with pytest.raises(ModelFailed) as caught:
        served_models(settings("http://127.0.0.1:9/v1"))

    assert caught.value.code == "no_server"
    assert str(caught.value).startswith("no server at http://127.0.0.1:9/v1/: ")
