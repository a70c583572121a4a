"""A scripted stand-in for the Anthropic API, on loopback.

`ScriptedApi(script)` listens on a free port of 127.0.0.1 and serves POST /v1/messages
(server-sent events when the client streams, JSON otherwise), count_tokens and
GET /v1/models; any other path gets an empty object. The contract it keeps:

- The script is called for turns of the main thread and of subagents, several at a
  time: every request has a thread. What the client asks on the side (titles, auto
  mode's reviews) goes to `side`, which has a sensible default.
- Every request is in `requests` before its script runs, in order of arrival.
- A script that raises gives HTTP 500 to the client and its exception to `close`.
- As the proxy of a client it lets nothing through: `strays` is what was tried.
- After `close` nothing of it is left: delayed answers are dropped.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from bridge.testing.stage.replies import (
    Answer,
    HttpFailure,
    error,
    error_body,
    events,
    message,
)
from bridge.testing.stage.side import side_answer
from bridge.testing.stage.turns import ApiRequest, Role

Script = Callable[[ApiRequest], Answer]


class ScriptedApi:
    """The server; a context manager that listens from its making until `close`."""

    def __init__(self, script: Script, *, side: Script = side_answer) -> None:
        """Start to listen; `url` says where."""
        self._script = script
        self._side = side
        self._requests: list[ApiRequest] = []
        self._mistakes: list[Exception] = []
        self._arrived = threading.Condition()
        self._closing = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The TCP port."""
        return self._server.server_port

    @property
    def url(self) -> str:
        """What the client wants in ANTHROPIC_BASE_URL."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> list[ApiRequest]:
        """Every request so far, as a copy."""
        with self._arrived:
            return list(self._requests)

    def turns(self, role: Role) -> list[ApiRequest]:
        """Return the requests for a message of one role, oldest first."""
        return [
            request
            for request in self.requests
            if _is_turn(request) and request.role == role
        ]

    @property
    def strays(self) -> list[str]:
        """Where else the client wanted to go: `METHOD target` for each attempt."""
        return [
            f"{request.method} {request.path}"
            for request in self.requests
            if _is_stray(request)
        ]

    def wait_for(
        self, predicate: Callable[[ApiRequest], bool], *, timeout_s: float = 120
    ) -> ApiRequest:
        """Return the first request, past or to come, that satisfies `predicate`.

        Raises:
            TimeoutError: none came within `timeout_s` seconds.
        """
        deadline = time.monotonic() + timeout_s
        seen = 0
        with self._arrived:
            while True:
                for request in self._requests[seen:]:
                    if predicate(request):
                        return request
                seen = len(self._requests)
                if not self._arrived.wait(deadline - time.monotonic()):
                    msg = f"no such request within {timeout_s} s; {seen} others came"
                    raise TimeoutError(msg)

    def close(self) -> None:
        """Stop listening, drop what is delayed, and raise what a script raised."""
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        mistakes, self._mistakes = self._mistakes, []
        if mistakes:
            msg = "the script of the model raised"
            raise ExceptionGroup(msg, mistakes)

    def __enter__(self) -> Self:
        """Return the server itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close; a mistake in a script does not hide an error of the caller."""
        hidden = () if kind is None else (ExceptionGroup,)
        with contextlib.suppress(*hidden):
            self.close()

    def answer(self, request: ApiRequest) -> Answer | None:
        """Record `request` and return its answer when it is due, None when closed."""
        with self._arrived:
            self._requests.append(request)
            self._arrived.notify_all()
        if not _is_turn(request):
            return None
        script = self._side if request.role == "side" else self._script
        try:
            answer = script(request)
        except Exception as mistake:  # noqa: BLE001 - it must reach the test, not a thread
            self._mistakes.append(mistake)
            answer = error(500, "api_error", f"the script raised {mistake!r}")
        return None if self._closing.wait(answer.delay_s) else answer


def _is_turn(request: ApiRequest) -> bool:
    return request.method == "POST" and request.path == "/v1/messages"


def _is_stray(request: ApiRequest) -> bool:
    """Tell whether this came because we are the client's proxy."""
    return request.method == "CONNECT" or "://" in request.path


def _plain_answer(request: ApiRequest) -> dict[str, Any]:
    if request.path == "/v1/messages/count_tokens":
        return {"input_tokens": request.size_bytes // 4}
    if request.path == "/v1/models":
        return {"data": [], "has_more": False, "first_id": None, "last_id": None}
    return {}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, api: ScriptedApi) -> None:
        self.api = api
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that is killed leaves broken connections behind."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Without it the kernel waits for the client's ACK between headers and body: 40 ms.
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        raw = self.rfile.read(size)
        request = ApiRequest(
            time_s=time.monotonic(),
            method=self.command,
            path=self.path.partition("?")[0].rstrip("/"),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=_parse(raw),
            size_bytes=size,
        )
        answer = self.server.api.answer(request)
        if _is_stray(request):
            self._send_json(403, {"error": "this stage has no way out"})
        elif not _is_turn(request):
            self._send_json(200, _plain_answer(request))
        elif answer is None:
            self.close_connection = True
        elif isinstance(answer, HttpFailure):
            self._send_json(answer.status, error_body(answer), answer.headers)
        elif request.body.get("stream"):
            stream = b"".join(events(answer, request.body))
            self._send(200, "text/event-stream", stream)
        else:
            self._send_json(200, message(answer, request.body))

    do_GET = do_HEAD = do_PUT = do_PATCH = do_DELETE = do_CONNECT = do_POST  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - inherited
        """Say nothing: the requests are recorded."""

    def _send_json(
        self,
        status: int,
        body: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._send(status, "application/json", json.dumps(body).encode(), headers)

    def _send(
        self,
        status: int,
        kind: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in {
            "content-type": kind,
            "content-length": str(len(body)),
            "request-id": f"req_stage_{time.monotonic_ns()}",
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _parse(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
