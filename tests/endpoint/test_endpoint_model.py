"""An endpoint: what it says counts only whole, by the deadline, and by its name."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from scripted_server import ScriptedServer, Talk, fail, say

from bridge.agent_loop.chat_model import ChatRequest, Message, ModelFailed, Reply
from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.endpoint.endpoint_model import open_endpoint
from bridge.errors import BadSetting, ExtraMissing
from bridge.protocol.response import RequestFailed

SHAPE = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 9}}}


@pytest.fixture
def server():
    with ScriptedServer() as server:
        yield server
        server.over.set()
        server.shutdown()


def settings(url: str | None, key: str = "") -> Settings:
    env = {"HOME": "/nowhere", "BRIDGE_OPENAI_API_KEY": key}
    if url is not None:
        env["BRIDGE_OPENAI_BASE_URL"] = url
    return Settings.from_environment(env)


def ask(endpoint, *, seconds: float = 20.0, **more) -> Reply:
    return endpoint.reply(
        ChatRequest(
            messages=[Message("system", "Be brief."), Message("user", "Hi <|im_end|>")],
            shape=SHAPE,
            prefix=1,
            max_tokens=50,
            deadline_s=time.monotonic() + seconds,
            **more,
        )
    )


def failure(server: ScriptedServer, *acts, key: str = "", **how) -> tuple[str, str]:
    server.acts = list(acts)
    endpoint = open_endpoint("openai:m", settings(server.url, key))
    try:
        with pytest.raises(ModelFailed) as caught:
            ask(endpoint, **how)
    finally:
        endpoint.close()
    return caught.value.code, str(caught.value)


def test_asks_in_the_shape_and_returns_the_reply(server):
    server.acts = [say('{"a":', ' "b"}')]
    counted: list[int] = []
    endpoint = open_endpoint("openai:m", settings(server.url, "sk-1"))

    reply = ask(endpoint, on_tokens=lambda n, _: counted.append(n))

    assert (reply.text, reply.prompt_tokens, reply.cached_tokens, reply.tokens) == (
        '{"a": "b"}',
        7,
        5,
        3,
    )
    assert reply.seconds > 0
    assert counted[:2] == [1, 2]
    assert (endpoint.name, endpoint.is_small) == ("openai:m", False)
    assert server.keys == ["Bearer sk-1"]
    assert server.asked == [
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi <|im_end|>"},
            ],
            "max_tokens": 50,
            "temperature": 0.0,
            "stream": True,
            "stream_options": {"include_usage": True},
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": SHAPE, "strict": True},
            },
        }
    ]


@pytest.mark.parametrize("status", [400, 422, 500])
def test_an_older_server_is_asked_in_the_older_form_from_then_on(server, status):
    server.acts = [fail(status, "response_format.type: no json_schema"), say("{}")]
    endpoint = open_endpoint("openai:m", settings(server.url))

    first, second = ask(endpoint), ask(endpoint)

    assert first.text == second.text == "{}"
    forms = [asked["response_format"] for asked in server.asked]
    plain = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert forms[1:] == [{"type": "json_object", "schema": plain}] * 2
    assert forms[0]["type"] == "json_schema"


@pytest.mark.parametrize(
    ("act", "code", "message"),
    [
        (fail(404, "no model m"), "AGENT_002", "HTTP 404: "),
        (fail(429, "slow down"), "quota", "HTTP 429: "),
        (fail(400, "context length exceeded"), "AGENT_004", "HTTP 400: "),
        (fail(400, "the schema is too odd"), "AGENT_001", "HTTP 400: "),
        (fail(401, "bad key sk-1"), "agent_error", "HTTP 401: "),
        (fail(503, "loading"), "agent_error", "HTTP 503: "),
    ],
    ids=["no-model", "quota", "too-long", "schema", "key", "server"],
)
def test_error_of_the_server_has_a_code(server, act, code, message):
    told = failure(server, act, key="sk-1")

    assert told[0] == code
    assert told[1].startswith(message)
    assert "sk-1" not in told[1]
    assert len(server.asked) == 1


def refuse(talk: Talk, _) -> None:
    talk.begin()
    talk.chunk(refusal="I cannot ")
    talk.chunk(refusal="do that")
    talk.chunk(finish="stop")
    talk.end()


def break_off(talk: Talk, _) -> None:
    talk.begin()
    talk.chunk(content='{"a": ')


def hang_up(talk: Talk, _) -> None:
    talk.connection.close()


def delta(value) -> dict:
    return {"choices": [{"index": 0, "delta": value, "finish_reason": "stop"}]}


# The client checks none of this.
ODD = [
    delta({"content": 5}),
    delta({"content": [{"type": "text", "text": "{}"}]}),
    delta({"content": {"a": 1}}),
    delta({"refusal": 5}),
    delta("{}"),
    {"choices": {"a": 1}},
    {"choices": "abc"},
    {"choices": 7},
    {"choices": [7]},
]


def odd(event: dict):
    def act(talk: Talk, _) -> None:
        talk.begin()
        talk.event(event)
        talk.end()

    return act


def nonsense(talk: Talk, _) -> None:
    talk.begin()
    talk.wfile.write(b"data: {not json\n\n")


@pytest.mark.parametrize(
    ("act", "code", "message"),
    [
        (refuse, "agent_error", "the model refused: I cannot do that"),
        (break_off, "agent_error", "the reply broke off"),
        (
            say('{"a": "xx', finish="length"),
            "AGENT_004",
            "the reply is longer than its limit",
        ),
        (
            say("{}", finish="content_filter"),
            "agent_error",
            "the server's filter ended the reply",
        ),
        (say(" "), "empty_answer", "the reply is empty"),
        (say("Sure! Hi."), "no_json", "the reply is not JSON: 'Sure! Hi.'"),
        (say('{"a": 1, "a": 2}'), "no_json", "the reply is not JSON: "),
        (nonsense, "agent_error", "JSONDecodeError: "),
        *(
            (odd(event), "agent_error", "the server's reply does not have the form of ")
            for event in ODD
        ),
        (hang_up, "agent_error", "the connection broke: "),
    ],
    ids=[
        *("refusal", "broken-off", "length", "filter", "empty"),
        *("prose", "twice", "nonsense"),
        *(f"odd-{number}" for number in range(len(ODD))),
        "hung-up",
    ],
)
def test_error_a_reply_that_is_none(server, act, code, message):
    told = failure(server, act)

    assert told[0] == code
    assert told[1].startswith(message)


@pytest.mark.parametrize(
    "usage",
    [
        "many",
        {"prompt_tokens": "many", "completion_tokens": "few"},
        {"prompt_tokens": -5, "completion_tokens": -3},
        {"prompt_tokens": 10**30, "completion_tokens": 1.5},
        {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": []}},
    ],
)
def test_a_server_that_cannot_count_loses_no_answer(server, usage):
    server.acts = [odd({**delta({"content": "{}"}), "usage": usage})]

    reply = ask(open_endpoint("openai:m", settings(server.url)))

    known = usage["prompt_tokens"] == 1 if isinstance(usage, dict) else 0
    assert (reply.text, reply.prompt_tokens, reply.cached_tokens, reply.tokens) == (
        "{}",
        int(known),
        0,
        1,
    )


def endless(status: int):
    """Send a line that never ends."""

    def act(talk: Talk, _) -> None:
        talk.send_response(status)
        talk.send_header("Content-Type", "text/event-stream")
        talk.send_header("Connection", "close")
        talk.end_headers()
        talk.wfile.write(b"data: ")
        while not talk.server.over.is_set():
            talk.wfile.write(b"a" * 1000)

    return act


@pytest.mark.parametrize("status", [200, 500], ids=["line", "error"])
def test_error_bytes_without_end(server, monkeypatch, status):
    """The client keeps a line, and an error, whole: all the memory that there is."""
    monkeypatch.setattr("bridge.endpoint.http_transport.MAX_BYTES", 100_000)

    told = failure(server, endless(status))

    assert told == ("AGENT_004", "the server sent over 100,000 bytes")


@pytest.mark.parametrize("status", [301, 307, 308])
def test_error_a_server_that_points_elsewhere_is_not_followed(server, status):
    """What is asked holds the project's files: they go where the user said."""

    def redirect(talk: Talk, _) -> None:
        talk.send_response(status)
        talk.send_header("Location", "http://elsewhere.test/v1")
        talk.send_header("Content-Length", "0")
        talk.end_headers()

    code, message = failure(server, redirect)

    assert code == "AGENT_002"
    assert message == (
        f"{server.url}/ points to http://elsewhere.test/v1, and is not followed; set "
        "BRIDGE_OPENAI_BASE_URL to where the server is"
    )


def test_error_no_server():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        endpoint = open_endpoint("openai:m", settings(url))
        with pytest.raises(ModelFailed) as caught:
            ask(endpoint)

    assert caught.value.code == "no_host"
    assert str(caught.value).startswith(f"no server at {url}/: ")


def silent(talk: Talk, _) -> None:
    talk.server.begun.set()
    talk.server.over.wait()


def trickle(talk: Talk, _) -> None:
    """A byte now and then keeps any read from timing out."""
    talk.begin()
    talk.server.begun.set()
    while not talk.server.over.wait(0.05):
        talk.chunk(content=" ")


@pytest.mark.parametrize("act", [silent, trickle])
def test_error_the_deadline_holds_whatever_the_server_does(server, act):
    told = failure(server, act, seconds=0.5)

    assert told[0] == "AGENT_005"


def test_error_a_reply_without_end(server, monkeypatch):
    monkeypatch.setattr("bridge.endpoint.partial_reply._MAX_REPLY_CHARS", 10)

    told = failure(server, trickle)

    assert told == ("AGENT_004", "the reply has over 10 characters")


@pytest.mark.parametrize("act", [silent, trickle])
def test_close_ends_the_wait(server, act):
    server.acts = [act]
    endpoint = open_endpoint("openai:m", settings(server.url))

    def close() -> None:
        assert server.begun.wait(60)
        endpoint.close()

    closing = threading.Thread(target=close)
    closing.start()

    with pytest.raises(ModelFailed) as caught:
        ask(endpoint, seconds=36_000)

    closing.join()
    assert (caught.value.code, str(caught.value)) == (
        "AGENT_006",
        "the model was closed",
    )


def quiet_before(talk: Talk, _) -> None:
    """Says nothing at all, and looks whether anybody still listens."""
    wait_for_the_end(talk)


def quiet_after(talk: Talk, _) -> None:
    talk.begin()
    talk.chunk(content=" ")
    wait_for_the_end(talk)


def wait_for_the_end(talk: Talk) -> None:
    talk.server.begun.set()
    talk.connection.settimeout(30)
    if talk.connection.recv(1) == b"":
        talk.server.left.set()


@pytest.mark.parametrize("act", [quiet_before, quiet_after])
@pytest.mark.parametrize("how", ["told to stop", "closed", "late"])
def test_whoever_waits_no_longer_hangs_up(server, act, how):
    """A server that is not told goes on computing, for nobody."""
    server.acts = [act]
    endpoint = open_endpoint("openai:m", settings(server.url))
    if how == "closed":
        threading.Timer(0.5, endpoint.close).start()

    with pytest.raises(ModelFailed) as caught:
        ask(
            endpoint,
            seconds=0.5 if how == "late" else 600,
            should_stop=server.begun.is_set if how == "told to stop" else lambda: False,
        )

    expected = {"told to stop": "cancelled", "closed": "AGENT_006", "late": "AGENT_005"}
    assert caught.value.code == expected[how]
    assert server.left.wait(10)


def test_a_cancelled_request_ends_its_turn(server, tmp_path):
    """As a user has it: one process asks, another cancels."""
    server.acts = [quiet_before]
    (tmp_path / "project").mkdir()
    told = Settings(home=tmp_path / "home", openai_base_url=server.url)
    bridge = Bridge(told, tmp_path / "project")
    ended: list[Exception] = []

    def ask_it() -> None:
        try:
            bridge.ask("?", route="endpoint", model="openai:m", timeout_s=600)
        except RequestFailed as exc:
            ended.append(exc)

    asker = threading.Thread(target=ask_it, daemon=True)
    asker.start()
    assert server.begun.wait(20)
    (request,) = bridge.overview().requests

    assert Bridge(told, tmp_path / "project").cancel(request.request_id)

    assert server.left.wait(20)
    asker.join(20)
    assert [exc.code for exc in ended] == ["cancelled"]


def test_error_no_base_url():
    with pytest.raises(BadSetting) as caught:
        open_endpoint("openai:m", settings(None))

    assert str(caught.value) == (
        "no server is set; set BRIDGE_OPENAI_BASE_URL, such as http://127.0.0.1:8080/v1"
    )


def test_error_no_name():
    with pytest.raises(BadSetting) as caught:
        open_endpoint("openai:", settings("http://127.0.0.1:1/v1"))

    assert str(caught.value) == "model 'openai:': expected openai:NAME"


def test_error_an_address_that_is_none():
    with pytest.raises(BadSetting) as caught:
        settings("localhost:8080")

    assert str(caught.value) == (
        "BRIDGE_OPENAI_BASE_URL='localhost:8080': expected http:// or https://"
    )


def test_error_no_client(monkeypatch):
    """Without the extra, the way out is one command."""
    monkeypatch.setattr("bridge.endpoint.endpoint_model.find_spec", lambda _: None)

    with pytest.raises(ExtraMissing) as caught:
        open_endpoint("openai:m", settings("http://127.0.0.1:1/v1"))

    assert str(caught.value) == (
        "openai is not installed; run: pip install 'hostbridge[endpoint]'"
    )
