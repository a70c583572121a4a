"""A streamed reply, chunk by chunk, until it is whole.

Source: OpenAI API reference, "The chat completion chunk object". The client checks
nothing of what a server sends, so this does.
"""

import re
from typing import Any

from bridge.agent_loop.chat_model import ModelFailed, ModelReply
from bridge.protocol.embedded_json import Invalid, find_json

_MAX_REPLY_CHARS = 4_000_000
_MAX_COUNT = 2**31
# What some servers put before the reply, though it is held to a shape. A template may
# have opened it in the prompt.
_THOUGHTS = re.compile(
    r"\A\s*(?:<(think|thinking|thought|reasoning)>|(?![\s{\[])).*?</(?(1)\1|think)>\s*",
    re.S | re.I,
)


class PartialReply:
    """What has come of a reply so far; once `is_over`, nothing more will come."""

    def __init__(self) -> None:
        self.is_over = False
        self._parts: list[str] = []
        self._chars = 0
        self._refusal = ""
        self._finish: str | None = None
        self._usage: Any = None

    @property
    def tokens(self) -> int:
        """The number of tokens by the server's count, or else that of the chunks."""
        return _count(self._usage, "completion_tokens") or len(self._parts)

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
            raise ModelFailed(
                "agent_error", "the server's reply does not have the form of the API"
            ) from None

    def _take(self, chunk: Any) -> None:
        self._usage = getattr(chunk, "usage", None) or self._usage
        for choice in (getattr(chunk, "choices", None) or ())[:1]:
            text = _text_of(choice.delta, "content")
            self._refusal += _text_of(choice.delta, "refusal")
            self._finish = choice.finish_reason or self._finish
            self._parts += [text] if text else []
            self._chars += len(text)
        if self._chars + len(self._refusal) > _MAX_REPLY_CHARS:
            raise ModelFailed(
                "too_long", f"the reply has over {_MAX_REPLY_CHARS:,} characters"
            )

    def reply(self, seconds: float) -> ModelReply:
        """The whole reply.

        Raises:
            ModelFailed: it is a refusal, incomplete, or not JSON.
        """
        text = _THOUGHTS.sub("", "".join(self._parts), count=1)
        if self._refusal:
            raise ModelFailed("agent_error", f"the model refused: {self._refusal}")
        if self._finish == "length":
            raise ModelFailed("too_long", "the reply is longer than its limit")
        if self._finish == "content_filter":
            raise ModelFailed("agent_error", "the server's filter ended the reply")
        if self._finish is None:
            raise ModelFailed("agent_error", "the reply broke off")
        if not text.strip():
            raise ModelFailed("empty_answer", "the reply is empty")
        if all(isinstance(value, Invalid) for value in find_json(text)):
            raise ModelFailed("no_json", f"the reply is not JSON: {text[:200]!r}")
        details = getattr(self._usage, "prompt_tokens_details", None)
        return ModelReply(
            text,
            prompt_tokens=_count(self._usage, "prompt_tokens"),
            cached_tokens=_count(details, "cached_tokens"),
            tokens=self.tokens,
            seconds=seconds,
        )


def _text_of(delta: Any, name: str) -> str:
    """A text of a delta, empty if missing; a TypeError if it is not a text."""
    text = getattr(delta, name, None) if delta else None
    if delta and not hasattr(delta, "__dict__"):
        raise TypeError(delta)
    if text is not None and not isinstance(text, str):
        raise TypeError(text)
    return text or ""


def _count(usage: Any, name: str) -> int:
    """A number of the server's usage; 0 if it is not a plausible one."""
    number = getattr(usage, name, None)
    if not isinstance(number, int) or not 0 <= number < _MAX_COUNT:
        return 0
    return int(number)
