"""A chat server on loopback that does what a test scripted, and a client for it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from bridge.agent_loop.chat_model import ChatRequest, Message, ModelFailed, ModelReply
from bridge.config import Settings
from bridge.endpoint.endpoint_model import EndpointModel, open_endpoint

SHAPE = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 9}}}

Act = Callable[["Talk", dict[str, Any]], None]


class Talk(BaseHTTPRequestHandler):
    """One request: read whole, then answered by the next act of the script."""

    server: ScriptedServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        asked = json.loads(body)
        self.server.asked.append(asked)
        self.server.keys.append(self.headers["Authorization"])
        acts = self.server.acts
        act = acts.pop(0) if len(acts) > 1 else acts[0]
        self.close_connection = True
        act(self, asked)

    def do_GET(self) -> None:
        served = self.server.served
        if served == ["slow"]:
            trickle(self, {})
            return
        if served is None:
            self.fail(404, "no such page")
            return
        listed = [{"id": name, "object": "model"} for name in served]
        value = {"object": "list", "data": listed} if served != ["odd"] else {}
        self.begin("application/json")
        self.wfile.write(json.dumps(value).encode())
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Log nothing."""

    def fail(self, status: int, message: str, **headers: str) -> None:
        body = json.dumps({"error": {"message": message}}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def begin(self, form: str = "text/event-stream", status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", form)
        self.send_header("Connection", "close")
        self.end_headers()

    def chunk(self, finish: str | None = None, **delta: Any) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        self.event({"choices": [choice]})

    def event(self, value: dict[str, Any]) -> None:
        base = {"id": "c", "object": "chat.completion.chunk", "created": 0}
        line = json.dumps({**base, "model": "m", **value})
        self.wfile.write(f"data: {line}\n\n".encode())
        self.wfile.flush()

    def end(self) -> None:
        self.wfile.write(b"data: [DONE]\n\n")


class ScriptedServer(ThreadingHTTPServer):
    """Serves on a free port of 127.0.0.1 until closed."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Talk)
        self.acts: list[Act] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        # The models that it lists; None if it does not know how.
        self.served: list[str] | None = None
        self.over = threading.Event()
        # Set by an act: it has begun to wait; the client has hung up.
        self.begun = threading.Event()
        self.left = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.shutdown()
        self.server_close()

    def passes_an_hour(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An hour passes as soon as it has the request."""

        def monotonic() -> float:
            return time.monotonic() + 3600 * self.begun.is_set()

        clock = SimpleNamespace(monotonic=monotonic)
        monkeypatch.setattr("bridge.endpoint.endpoint_model.time", clock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, *_: Any) -> None:
        """In some tests the client goes away."""


def say(*parts: str, finish: str | None = "stop") -> Act:
    """Stream these parts, and the usage."""

    def act(talk: Talk, _: dict[str, Any]) -> None:
        talk.begin()
        for part in parts:
            talk.chunk(content=part)
        talk.chunk(finish=finish)
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        usage["prompt_tokens_details"] = {"cached_tokens": 5}
        talk.event({"choices": [], "usage": usage})
        talk.end()

    return act


def fail(status: int, message: str = "no", **headers: str) -> Act:
    """Answer with an error."""
    return lambda talk, _: talk.fail(status, message, **headers)


def send(event: dict[str, Any]) -> Act:
    """Stream one event, and end."""

    def act(talk: Talk, _: dict[str, Any]) -> None:
        talk.begin()
        talk.event(event)
        talk.end()

    return act


def silent(talk: Talk, _: dict[str, Any]) -> None:
    """Send nothing, and notice when the client hangs up."""
    talk.server.begun.set()
    talk.connection.settimeout(30)
    if talk.connection.recv(1) == b"":
        talk.server.left.set()


def trickle(talk: Talk, _: dict[str, Any]) -> None:
    """Send a space now and then, so that no read times out."""
    talk.begin()
    talk.server.begun.set()
    with suppress(OSError):
        while not talk.server.over.wait(0.05):
            talk.chunk(content=" ")
    talk.server.left.set()


def settings(url: str | None, key: str = "") -> Settings:
    """The settings for a server."""
    env = {"HOME": "/nowhere", "BRIDGE_OPENAI_API_KEY": key}
    if url is not None:
        env["BRIDGE_OPENAI_BASE_URL"] = url
    return Settings.from_environment(env)


def connect(server: ScriptedServer, *acts: Act, key: str = "") -> EndpointModel:
    """The model `m` of a server that acts in this way."""
    server.acts = list(acts)
    return open_endpoint("openai:m", settings(server.url, key))


def ask(endpoint: EndpointModel, *, seconds: float = 20.0, **more: Any) -> ModelReply:
    """One reply; `more` are further fields of the request."""
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


def failure(endpoint: EndpointModel, **how: Any) -> tuple[str, str]:
    """Code and message of a reply that must fail."""
    try:
        with pytest.raises(ModelFailed) as caught:
            ask(endpoint, **how)
    finally:
        endpoint.close()
    return caught.value.code, str(caught.value)
