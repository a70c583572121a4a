"""The interface of a model: it replies to a conversation with JSON of a given shape.

`llama` runs a model on this machine, `endpoint` asks one over HTTP. Each is opened for
one request and closed after it. Neither knows of tools, requests or files. Pure.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from bridge.protocol.failure_codes import FailureCode

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message. Its text is data: nothing in it becomes a control token."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A conversation to be continued with one JSON value.

    Attributes:
        messages: the conversation.
        shape: the JSON Schema of the value.
        prefix: how many of the first messages are the same for every request to this
            agent.
        max_tokens: the most that the reply may take.
        deadline_s: on the monotonic clock.
        on_tokens: called now and then with the number of tokens so far and the seconds
            they took.
        should_stop: called several times a second. Once it is true the model stops, and
            can only be closed.
    """

    messages: Sequence[Message]
    shape: dict[str, Any]
    prefix: int
    max_tokens: int
    deadline_s: float
    on_tokens: Callable[[int, float], None] = lambda _tokens, _seconds: None
    should_stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The model's reply: JSON text that satisfies the shape.

    `prompt_tokens` counts the whole conversation, `cached_tokens` the part of it that
    was not computed again; `seconds` is the time from the request to the last token.
    """

    text: str
    prompt_tokens: int = 0
    cached_tokens: int = 0
    tokens: int = 0
    seconds: float = 0.0


class ModelFailed(Exception):
    """The model gave no reply; `code` is one of the failure table.

    bad_request: the shape cannot be compiled. model_unavailable: the model cannot be
    loaded. schema_mismatch: the reply does not satisfy the shape after all. too_long:
    the reply or the conversation is. timeout: the deadline passed. model_died: its
    process did. cancelled: the reply is no longer wanted. An endpoint has others, too.
    """

    def __init__(self, code: FailureCode, message: str) -> None:
        super().__init__(message)
        self.code = code


# How often a model asks whether its reply is still wanted, in seconds.
LOOK_S = 0.2


class ChatModel(Protocol):
    """A model that is ready to reply."""

    @property
    def name(self) -> str:
        """Its name in answers."""

    @property
    def is_small(self) -> bool:
        """Too small to be trusted: what it answers is marked degraded."""

    def reply(self, request: ChatRequest) -> ModelReply:
        """Continue a conversation.

        Raises:
            ModelFailed: there is no whole reply.
        """

    def close(self) -> None:
        """Release the model at once, whatever it is doing."""
