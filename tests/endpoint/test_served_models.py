"""Without a named model, the server is asked which ones it has."""

import time

import pytest
from aheadclock import AheadClock
from scripted_server import settings

from bridge.agent_loop.chat_model import ModelFailed
from bridge.endpoint import http_transport
from bridge.endpoint import served_models as listing
from bridge.endpoint.served_models import list_models, model_in_use, served_models

pytestmark = pytest.mark.slow


def in_use(settings) -> str:
    return model_in_use(settings, time.monotonic() + 300, lambda: False)


def test_the_only_one_is_taken(server):
    server.served = ["qwen3:4b"]

    assert in_use(settings(server.url)) == "qwen3:4b"


def test_the_configured_one_goes_first():
    """Then nothing is sent."""
    chosen = settings("http://127.0.0.1:9/v1").with_(openai_model="m")

    assert in_use(chosen) == "m"


SEVERAL = "URL has several models: "
MUTE = "the server does not say which models it has "
HOW = "name one: --model openai:NAME, or BRIDGE_OPENAI_MODEL"
MANY = [f"m{number}" for number in range(13)]


@pytest.mark.parametrize(
    ("served", "message"),
    [
        (["a\nwhat to do:", "b"], f"{SEVERAL}a what to do:, b; {HOW}"),
        (MANY, f"{SEVERAL}{', '.join(MANY[:12])}, …; {HOW}"),
        ([], "URL has no model: load one first"),
        (None, f"{MUTE}(HTTP 404: no such page); {HOW}"),
        (["odd"], f"{MUTE}(URL/models does not have the form of the API); {HOW}"),
    ],
    ids=["several", "many", "none", "unknown", "odd"],
)
def test_error_no_single_model(server, served, message):
    server.served = served

    with pytest.raises(ModelFailed) as caught:
        in_use(settings(server.url))

    code = "agent_error" if served == ["odd"] else "model_unavailable"
    assert caught.value.code == code
    assert str(caught.value) == message.replace("URL", server.url)


def test_the_library_takes_its_own_time_to_load(server, monkeypatch):
    """On a busy machine it takes seconds, which are no fault of the server."""
    server.served = ["a", "b"]
    clock = AheadClock()
    opened = listing.open_client

    def open_slowly(*given):
        clock.ahead_s = 3600
        return opened(*given)

    monkeypatch.setattr("bridge.endpoint.endpoint_model.time", clock)
    monkeypatch.setattr(listing, "time", clock)
    monkeypatch.setattr(listing, "open_client", open_slowly)

    assert list_models(settings(server.url)) == ["a", "b"]


def test_error_no_server():
    with pytest.raises(ModelFailed) as caught:
        served_models(settings("http://127.0.0.1:9/v1"), time.monotonic() + 300)

    assert caught.value.code == "no_server"
    assert str(caught.value).startswith("no server at http://127.0.0.1:9/v1/: ")


def test_error_a_list_without_an_end(server, monkeypatch):
    """The way out is to name a model, not to ask for less."""
    monkeypatch.setattr(http_transport, "MAX_BYTES", 1_000)
    server.served = ["slow"]

    with pytest.raises(ModelFailed) as caught:
        in_use(settings(server.url))

    assert caught.value.code == "model_unavailable"
    assert str(caught.value).endswith(f"1,000 bytes); {HOW}")


@pytest.mark.parametrize(
    ("how", "code"), [("late", "timeout"), ("stopped", "cancelled")]
)
def test_a_slow_list_is_not_waited_for(server, monkeypatch, how, code):
    """No single read of it times out. The connection is closed."""
    server.served = ["slow"]

    if how == "late":
        server.passes_an_hour(monkeypatch)
    is_over = server.begun.is_set if how == "stopped" else lambda: False

    with pytest.raises(ModelFailed) as caught:
        served_models(settings(server.url), time.monotonic() + 600, is_over)

    assert caught.value.code == code
    assert server.left.wait(300)
