"""An endpoint: asked in the form it knows, waited for until the deadline at most."""

import threading

import pytest
from scripted_server import (
    SHAPE,
    ask,
    connect,
    fail,
    failure,
    say,
    settings,
    silent,
    trickle,
)

from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.endpoint.endpoint_model import open_endpoint
from bridge.errors import BadSetting, ExtraMissing
from bridge.extras import how_to_add
from bridge.protocol.response import RequestFailed

pytestmark = pytest.mark.slow


def test_asks_for_the_shape_and_returns_the_reply(server):
    counted: list[int] = []
    endpoint = connect(server, say('{"a":', ' "b"}'), key="sk-1")

    reply = ask(endpoint, on_tokens=lambda n, _: counted.append(n))

    assert reply.text == '{"a": "b"}'
    assert (reply.prompt_tokens, reply.cached_tokens, reply.tokens) == (7, 5, 3)
    assert reply.seconds > 0
    assert counted[:2] == [1, 2]
    assert (endpoint.name, endpoint.is_small) == ("openai:m", False)
    assert server.keys == ["Bearer sk-1"]
    system = {"role": "system", "content": "Be brief."}
    form = {"name": "reply", "schema": SHAPE, "strict": True}
    assert server.asked == [
        {
            "model": "m",
            "messages": [system, {"role": "user", "content": "Hi <|im_end|>"}],
            "max_tokens": 50,
            "temperature": 0.0,
            "stream": True,
            "stream_options": {"include_usage": True},
            "response_format": {"type": "json_schema", "json_schema": form},
        }
    ]


@pytest.mark.parametrize("status", [400, 422, 500, 501])
@pytest.mark.parametrize("form", ["response_format", "json_schema"])
def test_an_older_server_is_asked_in_the_older_form_from_then_on(server, status, form):
    endpoint = connect(server, fail(status, f"{form} is unknown"), say("{}"))

    first, second = ask(endpoint), ask(endpoint)

    assert first.text == second.text == "{}"
    forms = [asked["response_format"] for asked in server.asked]
    plain = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert forms[1:] == [{"type": "json_object", "schema": plain}] * 2
    assert forms[0]["type"] == "json_schema"


@pytest.mark.parametrize(("status", "message"), [(404, "json_schema"), (400, "odd")])
def test_error_another_failure_is_not_retried(server, status, message):
    endpoint = connect(server, fail(status, message), say("{}"))

    assert failure(endpoint)[1].startswith(f"HTTP {status}: ")
    assert len(server.asked) == 1


@pytest.mark.parametrize("act", [silent, trickle])
def test_error_the_deadline(server, act):
    """It holds whatever the server does."""
    code, message = failure(connect(server, act), seconds=0.5)

    # The library that talks to the server keeps the same deadline: either is first.
    assert code == "timeout"
    assert message.endswith("did not answer by the deadline")


def test_a_cancelled_request_stops_the_server(server, tmp_path):
    """One process asks, another cancels."""
    server.acts = [silent]
    (tmp_path / "project").mkdir()
    chosen = Settings(home=tmp_path / "home", openai_base_url=server.url)
    bridge = Bridge(chosen, tmp_path / "project")
    codes: list[str] = []

    def ask_it() -> None:
        try:
            bridge.ask("?", route="endpoint", model="openai:m", timeout_s=600)
        except RequestFailed as exc:
            codes.append(exc.code)

    asker = threading.Thread(target=ask_it, daemon=True)
    asker.start()
    assert server.begun.wait(300)
    (request,) = bridge.overview().requests

    assert Bridge(chosen, tmp_path / "project").cancel(request.request_id)

    assert server.left.wait(300)
    asker.join(300)
    assert codes == ["cancelled"]


URL = "BRIDGE_OPENAI_BASE_URL"
UNSET = f"no server is set; set {URL}, such as http://127.0.0.1:8080/v1"


@pytest.mark.parametrize(
    ("model", "url", "message"),
    [
        ("openai:m", None, UNSET),
        ("openai:", "http://127.0.0.1:1/v1", "model 'openai:': expected openai:NAME"),
        ("openai:m", "host:80", f"{URL}='host:80': expected http:// or https://"),
    ],
    ids=["no-url", "no-name", "no-scheme"],
)
def test_error_settings(model, url, message):
    with pytest.raises(BadSetting) as caught:
        open_endpoint(model, settings(url))

    assert str(caught.value) == message


def test_error_the_client_is_not_installed(monkeypatch):
    monkeypatch.setattr("bridge.endpoint.endpoint_model.find_spec", lambda _: None)

    with pytest.raises(ExtraMissing) as caught:
        open_endpoint("openai:m", settings("http://127.0.0.1:1/v1"))

    run = how_to_add("endpoint")
    assert str(caught.value) == f"openai is not installed; run: {run}"
