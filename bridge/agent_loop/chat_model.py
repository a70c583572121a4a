"""What the loop needs of a model: one reply to a conversation, in a given form.

`llama` runs one on this machine, `endpoint` asks one over HTTP. Both are opened for one
request and closed after it; neither knows of tools, requests or files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.protocol.failure_codes import FailureCode

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message. Its text is data: nothing in it becomes a control token."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said: JSON text that satisfies the shape.

    `prompt_tokens` counts the whole conversation, `cached_tokens` the part that was not
    computed again; `seconds` is the time from asking to the last token.
    """

    text: str
    prompt_tokens: int = 0
    cached_tokens: int = 0
    tokens: int = 0
    seconds: float = 0.0


class ModelFailed(Exception):
    """The model gave no reply; `code` is that of the failure table.

    AGENT_001 the shape cannot be compiled, AGENT_002 the model cannot be loaded,
    AGENT_003 the reply does not satisfy the shape after all,
    AGENT_004 the reply or the conversation is longer than its limit, AGENT_005 the
    deadline passed, AGENT_006 the process died; cancelled if nobody wants the reply any
    more; agent_error for other errors of an endpoint.
    """

    def __init__(self, code: FailureCode, message: str) -> None:
        super().__init__(message)
        self.code = code


# How often a model asks whether its reply is still wanted, in seconds.
LOOK_S = 0.2


def never() -> bool:
    """Always false: the reply stays wanted."""
    return False


class ChatModel(Protocol):
    """A model that is ready to reply."""

    @property
    def name(self) -> str:
        """Its name, as the answer will say it."""

    @property
    def is_small(self) -> bool:
        """Too small to be trusted: what it answers is marked degraded."""

    def reply(
        self,
        messages: Sequence[Message],
        shape: dict[str, Any],
        *,
        prefix: int,
        max_tokens: int,
        deadline_s: float,
        on_tokens: Callable[[int, float], None],
        should_stop: Callable[[], bool] = never,
    ) -> Reply:
        """Continue the conversation with one JSON value of this shape.

        `shape` is a JSON Schema; `prefix` how many of the first messages every request
        to this agent shares; `deadline_s` is on the monotonic clock; `on_tokens` is
        called now and then with the number of tokens and the seconds they took.
        `should_stop` is asked several times a second; once it is true the model stops,
        and can only be closed.

        Raises:
            ModelFailed: there is no whole reply.
        """

    def close(self) -> None:
        """Release the model at once, whatever it is doing."""
