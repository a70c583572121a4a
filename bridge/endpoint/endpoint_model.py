"""A model behind HTTP: `openai:NAME` at an OpenAI-compatible server.

The reply is streamed, to show progress. Another thread waits for the server, so that
the caller goes on at the deadline, and at once when the model is closed, whatever the
server does. Nothing is tried twice, with one exception: a server that does not know
`json_schema` is asked in the older form, then and from then on.

Source: OpenAI API reference, "Create chat completion", `response_format`; llama.cpp
and llama-cpp-python, `{"type": "json_object", "schema": …}`.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from typing import Any

from bridge.agent_loop.chat_model import LOOK_S, ChatRequest, ModelFailed, ModelReply
from bridge.config import Settings
from bridge.endpoint.http_failures import failure_of
from bridge.endpoint.http_transport import (
    UNPACKED,
    Connections,
    limit_size,
    refuse_packed,
)
from bridge.endpoint.partial_reply import PartialReply
from bridge.errors import BadSetting, ExtraMissing
from bridge.protocol.names import OF_SERVER

# How a server rejects a form that it does not know; llama-cpp-python reports an
# internal error.
_UNKNOWN_FORM = frozenset({400, 422, 500, 501})


def check_endpoint(settings: Settings) -> None:
    """Check that a server is set and that the client is installed.

    Raises:
        BadSetting: no server is set.
        ExtraMissing: the `openai` package is not installed.
    """
    if settings.openai_base_url is None:
        raise BadSetting(
            "no server is set; set BRIDGE_OPENAI_BASE_URL, such as "
            "http://127.0.0.1:8080/v1"
        )
    if find_spec("openai") is None:
        raise ExtraMissing("endpoint", "openai")


def open_endpoint(model: str, settings: Settings) -> EndpointModel:
    """The model `openai:NAME`; nothing is sent yet.

    Raises:
        BadSetting: no server is set, or the name is empty.
        ExtraMissing: the `openai` package is not installed.
    """
    name = model.removeprefix(OF_SERVER).strip()
    if not name:
        raise BadSetting(f"model {model!r}: expected {OF_SERVER}NAME")
    return EndpointModel(name, *open_client(settings))


def open_client(settings: Settings) -> tuple[Any, Connections]:
    """An `openai.OpenAI` for the server, and its connections; nothing is sent yet.

    Raises:
        BadSetting: no server is set.
        ExtraMissing: the `openai` package is not installed.
    """
    check_endpoint(settings)
    import openai

    connections = Connections()
    client = openai.OpenAI(
        base_url=settings.openai_base_url,
        api_key=settings.openai_api_key,
        max_retries=0,
        # A tool may run for long between two turns. A server that closes a kept
        # connection meanwhile would make the second turn fail.
        default_headers={"Connection": "close", **UNPACKED},
        # The request holds the project's files: it goes to no other server.
        http_client=openai.DefaultHttpxClient(
            event_hooks={
                "request": [connections.watch],
                "response": [refuse_packed, limit_size],
            },
            follow_redirects=False,
        ),
    )
    return client, connections


class EndpointModel:
    """A `ChatModel` that asks `client`, an `openai.OpenAI`, for the model `name`.

    `connections` are those of that client.
    """

    is_small = False

    def __init__(self, name: str, client: Any, connections: Connections) -> None:
        self.name = f"{OF_SERVER}{name}"
        self._client = client
        self._connections = connections
        self._chunks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._is_old = False

    def reply(self, request: ChatRequest) -> ModelReply:
        """Continue a conversation, as `ChatModel.reply`; the server keeps no prefix."""
        began_s = time.monotonic()
        self._chunks = queue.SimpleQueue()
        gone = threading.Event()
        threading.Thread(
            target=self._ask, args=(request, self._chunks, gone), daemon=True
        ).start()
        answer = PartialReply()
        try:
            while not answer.is_over:
                answer.add(
                    next_of(
                        self._chunks,
                        request.deadline_s,
                        request.should_stop,
                        f"{self.name} did not answer by the deadline",
                    )
                )
                if answer.tokens:
                    request.on_tokens(answer.tokens, time.monotonic() - began_s)
        except BaseException:
            # Nobody listens any more: neither the server nor the thread should go on.
            gone.set()
            self._connections.cut()
            raise
        return answer.reply(time.monotonic() - began_s)

    def close(self) -> None:
        """Stop waiting at once, and close the connection."""
        self._chunks.put(ModelFailed("model_died", "the model was closed"))
        self._connections.cut()
        with suppress(Exception):
            self._client.close()

    # In the thread that waits for the server

    def _ask(
        self,
        request: ChatRequest,
        chunks: queue.SimpleQueue[Any],
        gone: threading.Event,
    ) -> None:
        """Pass on every chunk, and None at the end, until nobody listens any more."""
        try:
            with self._stream(request) as stream:
                for chunk in stream:
                    if gone.is_set():
                        return
                    chunks.put(chunk)
            chunks.put(None)
        except Exception as exc:  # noqa: BLE001 - a server may send anything
            chunks.put(failure_of(exc, self._client))

    def _stream(self, request: ChatRequest) -> Any:
        import openai

        create = partial(
            self._client.chat.completions.create,
            model=self.name.removeprefix(OF_SERVER),
            messages=[asdict(message) for message in request.messages],
            max_tokens=request.max_tokens,
            temperature=0.0,
            stream=True,
            stream_options={"include_usage": True},
            timeout=max(0.1, request.deadline_s - time.monotonic()),
        )
        if not self._is_old:
            try:
                return create(response_format=_form(request.shape))
            except openai.APIStatusError as exc:
                if exc.status_code not in _UNKNOWN_FORM or not _is_about_form(exc):
                    raise
                self._is_old = True
        return create(response_format=_old_form(request.shape))


def next_of(
    chunks: queue.SimpleQueue[Any],
    deadline_s: float,
    should_stop: Callable[[], bool],
    late: str,
) -> Any:
    """What another thread puts there next; it raises an exception that is put there.

    Raises:
        ModelFailed: nothing is wanted any more, or the deadline has passed: `late`.
    """
    while True:
        if should_stop():
            raise ModelFailed("cancelled", "the reply is no longer wanted")
        left_s = deadline_s - time.monotonic()
        with suppress(queue.Empty):
            chunk = chunks.get(timeout=max(0.0, min(left_s, LOOK_S)))
            break
        if left_s <= LOOK_S:
            raise ModelFailed("timeout", late)
    if isinstance(chunk, BaseException):
        raise chunk
    return chunk


def _form(shape: dict[str, Any]) -> dict[str, Any]:
    named = {"name": "reply", "schema": shape, "strict": True}
    return {"type": "json_schema", "json_schema": named}


def _old_form(shape: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_object", "schema": _plain(shape)}


def _plain(part: Any) -> Any:
    """The schema without lengths, which such servers unroll into a huge grammar.

    Lengths are checked afterwards, and `max_tokens` ends the reply in any case.
    """
    if isinstance(part, list):
        return [_plain(p) for p in part]
    if not isinstance(part, dict):
        return part
    lengths = {"maxLength", "minLength", "maxItems", "minItems"}
    return {
        key: _plain(value)
        for key, value in part.items()
        if key not in lengths or not isinstance(value, int)
    }


def _is_about_form(exc: Any) -> bool:
    message = str(exc)
    return "response_format" in message or "json_schema" in message
