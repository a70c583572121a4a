"""A model behind HTTP: `openai:NAME` at an OpenAI-compatible server.

The reply is streamed, to show progress. The caller's thread never waits for the server:
it goes on at the deadline, and at once when the model is closed, whatever the server
does. Nothing is tried twice, with one exception: servers that do not know `json_schema`
are asked in the older form, from then on.

Source: OpenAI API reference, "Create chat completion", `response_format`; llama.cpp
and llama-cpp-python, `{"type": "json_object", "schema": …}`.
"""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from bridge.agent_loop.chat_model import LOOK_S, ModelFailed, Reply, never
from bridge.endpoint.http_failures import failure_of
from bridge.endpoint.http_transport import Lines, bound
from bridge.errors import BadSetting, ExtraMissing
from bridge.protocol.embedded_json import Invalid, find_json
from bridge.protocol.names import OF_SERVER
from bridge.store.clock import Clock, SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.agent_loop.chat_model import Message
    from bridge.config import Settings

NO_SERVER_MODEL = (
    f"no model of the endpoint is named: --model {OF_SERVER}NAME, or "
    "BRIDGE_OPENAI_MODEL"
)
_MAX_REPLY_CHARS = 4_000_000
_MAX_COUNT = 2**31
# How a server rejects a form that it does not know; llama-cpp-python reports an
# internal error.
_UNKNOWN_FORM = frozenset({400, 422, 500, 501})


def check_endpoint(settings: Settings) -> None:
    """Check that there is a server to ask, and a client to ask it with.

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
        BadSetting: there is no server to ask, or no name.
        ExtraMissing: the `openai` package is not installed.
    """
    name = model.removeprefix(OF_SERVER).strip()
    if not name:
        raise BadSetting(f"model {model!r}: expected {OF_SERVER}NAME")
    check_endpoint(settings)
    import openai

    lines = Lines()
    client = openai.OpenAI(
        base_url=settings.openai_base_url,
        api_key=settings.openai_api_key,
        max_retries=0,
        # A tool may run for long between two turns: if the server closed the connection
        # meanwhile the second would fail, and nothing is tried again.
        default_headers={"Connection": "close"},
        # The request goes to the server that was named, and to no other.
        http_client=openai.DefaultHttpxClient(
            event_hooks={"request": [lines.note], "response": [bound]},
            follow_redirects=False,
        ),
    )
    return EndpointModel(name, client, lines=lines)


class EndpointModel:
    """A `ChatModel` that asks `client`, an `openai.OpenAI`, for the model `name`.

    `lines` are the connections of that client.
    """

    is_small = False

    def __init__(
        self,
        name: str,
        client: Any,
        *,
        lines: Lines | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._name = name
        self._client = client
        self._lines = lines or Lines()
        self._clock = clock or SystemClock()
        self._waiting: queue.SimpleQueue[Any] | None = None
        self._is_old = False

    @property
    def name(self) -> str:
        """`openai:NAME`."""
        return f"{OF_SERVER}{self._name}"

    def reply(
        self,
        messages: Sequence[Message],
        shape: dict[str, Any],
        *,
        prefix: int,  # noqa: ARG002 - the server keeps what it wants to keep
        max_tokens: int,
        deadline_s: float,
        on_tokens: Callable[[int, float], None],
        should_stop: Callable[[], bool] = never,
    ) -> Reply:
        """As `ChatModel.reply`; raises as it does."""
        began_s = self._clock.monotonic_s()
        chunks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._waiting = chunks
        asked = {
            "model": self._name,
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            "max_tokens": max_tokens,
            "temperature": 0.0,
            "stream": True,
            "stream_options": {"include_usage": True},
            "timeout": max(0.1, deadline_s - began_s),
        }
        gone = threading.Event()
        threading.Thread(
            target=self._ask, args=(asked, shape, chunks, gone), daemon=True
        ).start()
        said = _PartialReply()
        try:
            while not said.is_over:
                said.add(self._next(chunks, deadline_s, should_stop))
                if said.chunks:
                    on_tokens(said.tokens, self._clock.monotonic_s() - began_s)
        except BaseException:
            # Nobody listens any more: neither the server nor the thread should go on.
            gone.set()
            self._lines.cut()
            raise
        return said.reply(self._clock.monotonic_s() - began_s)

    def close(self) -> None:
        """Stop waiting at once, and close the connection."""
        if self._waiting is not None:
            self._waiting.put(ModelFailed("AGENT_006", "the model was closed"))
        self._lines.cut()
        with suppress(Exception):
            self._client.close()

    def _next(
        self,
        chunks: queue.SimpleQueue[Any],
        deadline_s: float,
        should_stop: Callable[[], bool],
    ) -> Any:
        """The next chunk of the reply; None at its end."""
        while True:
            if should_stop():
                raise ModelFailed("cancelled", "the reply was wanted no more")
            left_s = deadline_s - self._clock.monotonic_s()
            with suppress(queue.Empty):
                chunk = chunks.get(timeout=max(0.0, min(left_s, LOOK_S)))
                break
            if left_s <= LOOK_S:
                raise ModelFailed(
                    "AGENT_005", f"{self.name} did not answer by the deadline"
                )
        if isinstance(chunk, BaseException):
            raise chunk
        return chunk

    # In the thread that waits for the server

    def _ask(
        self,
        asked: dict[str, Any],
        shape: dict[str, Any],
        chunks: queue.SimpleQueue[Any],
        gone: threading.Event,
    ) -> None:
        """Pass on every chunk, and None at the end, until nobody listens any more."""
        try:
            with self._stream(asked, shape) as stream:
                for chunk in stream:
                    if gone.is_set():
                        return
                    chunks.put(chunk)
            chunks.put(None)
        except Exception as exc:  # noqa: BLE001 - a server may send anything
            chunks.put(failure_of(exc, self._client))

    def _stream(self, asked: dict[str, Any], shape: dict[str, Any]) -> Any:
        import openai

        create = self._client.chat.completions.create
        if not self._is_old:
            try:
                return create(**asked, response_format=_form(shape))
            except openai.APIStatusError as exc:
                if exc.status_code not in _UNKNOWN_FORM or not _is_about_form(exc):
                    raise
                self._is_old = True
        return create(**asked, response_format=_old_form(shape))


def _form(shape: dict[str, Any]) -> dict[str, Any]:
    named = {"name": "reply", "schema": shape, "strict": True}
    return {"type": "json_schema", "json_schema": named}


def _old_form(shape: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_object", "schema": _plain(shape)}


def _plain(part: Any) -> Any:
    """The schema without lengths: such servers unroll them into a grammar.

    They are checked afterwards, and `max_tokens` ends the reply in any case.
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
    words = str(exc)
    return "response_format" in words or "json_schema" in words


class _PartialReply:
    """A reply as it comes."""

    def __init__(self) -> None:
        self.is_over = False
        self.chunks = 0
        self._text: list[str] = []
        self._chars = 0
        self._refusal = ""
        self._finish: str | None = None
        self._usage: Any = None

    @property
    def tokens(self) -> int:
        """How many tokens there are: by the server's count, or else the chunks."""
        return _count(self._usage, "completion_tokens") or self.chunks

    def add(self, chunk: Any) -> None:
        """Take one chunk; None ends the reply.

        Raises:
            ModelFailed: the chunk does not follow the API, or the reply is too long.
        """
        if chunk is None:
            self.is_over = True
            return
        try:
            self._take(chunk)
        except (AttributeError, TypeError):
            # The client passes on whatever the server sends.
            raise ModelFailed(
                "agent_error", "the server's reply has not the form of the API's"
            ) from None

    def _take(self, chunk: Any) -> None:
        self._usage = getattr(chunk, "usage", None) or self._usage
        for choice in (getattr(chunk, "choices", None) or ())[:1]:
            text = _words(choice.delta, "content")
            self._refusal += _words(choice.delta, "refusal")
            self._finish = choice.finish_reason or self._finish
            if text:
                self.chunks += 1
                self._chars += len(text)
                self._text.append(text)
        if self._chars + len(self._refusal) > _MAX_REPLY_CHARS:
            raise ModelFailed(
                "AGENT_004", f"the reply has over {_MAX_REPLY_CHARS:,} characters"
            )

    def reply(self, seconds: float) -> Reply:
        """The whole reply.

        Raises:
            ModelFailed: it is a refusal, incomplete, or not JSON.
        """
        text = "".join(self._text)
        if self._refusal:
            raise ModelFailed("agent_error", f"the model refused: {self._refusal}")
        if self._finish == "length":
            raise ModelFailed("AGENT_004", "the reply is longer than its limit")
        if self._finish == "content_filter":
            raise ModelFailed("agent_error", "the server's filter ended the reply")
        if self._finish is None:
            raise ModelFailed("agent_error", "the reply broke off")
        if not text.strip():
            raise ModelFailed("empty_answer", "the reply is empty")
        if all(isinstance(value, Invalid) for value in find_json(text)):
            raise ModelFailed("no_json", f"the reply is not JSON: {text[:200]!r}")
        details = getattr(self._usage, "prompt_tokens_details", None)
        return Reply(
            text,
            prompt_tokens=_count(self._usage, "prompt_tokens"),
            cached_tokens=_count(details, "cached_tokens"),
            tokens=self.tokens,
            seconds=seconds,
        )


def _words(delta: Any, name: str) -> str:
    """A text of a delta, empty if missing; a TypeError if it is not a text."""
    words = getattr(delta, name, None) if delta else None
    if delta and not hasattr(delta, "__dict__"):
        raise TypeError(delta)
    if words is not None and not isinstance(words, str):
        raise TypeError(words)
    return words or ""


def _count(usage: Any, name: str) -> int:
    """A number of the server's usage; 0 if it is not a plausible one."""
    number = getattr(usage, name, None)
    if not isinstance(number, int) or not 0 <= number < _MAX_COUNT:
        return 0
    return int(number)
