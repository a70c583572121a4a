"""Does a model work here, and how fast? One small reply, held to a schema."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.agent_loop.chat_model import Message, ModelFailed
from bridge.llama.local_model import LlamaModel

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.llama.model_files import ModelFile

_ASKED = Message("user", "Name three colours, and say how many they are.")
_SHAPE = {
    "type": "object",
    "properties": {
        "colours": {
            "type": "array",
            "items": {"type": "string", "maxLength": 20},
            "minItems": 3,
            "maxItems": 3,
        },
        "count": {"const": 3},
    },
    "required": ["colours", "count"],
    "additionalProperties": False,
}
_MAX_TOKENS = 120


@dataclass(frozen=True, slots=True)
class Tested:
    """The result of a test.

    Attributes:
        reply: the reply; None if it failed.
        seconds: the time to the reply, with loading.
        tokens_per_s: the speed of a second reply, whose prompt was read before.
        problem: what went wrong, if anything.
    """

    reply: str | None
    seconds: float
    tokens_per_s: float = 0.0
    problem: str | None = None


def try_model(file: ModelFile, settings: Settings, *, timeout_s: float) -> Tested:
    """Load a model and have it reply twice: to test all of it, and for the speed."""
    started = time.monotonic()
    deadline_s = started + timeout_s
    try:
        with LlamaModel(file, settings, temperature=0) as model:
            replies = []
            for _ in range(2):
                reply = model.reply(
                    [_ASKED],
                    _SHAPE,
                    prefix=0,
                    max_tokens=_MAX_TOKENS,
                    deadline_s=deadline_s,
                    on_tokens=lambda _tokens, _seconds: None,
                )
                replies.append((reply, time.monotonic() - started))
    except ModelFailed as exc:
        spent_s = time.monotonic() - started
        return Tested(None, spent_s, problem=f"{exc.code}: {exc}")
    (first, seconds), (second, _) = replies
    return Tested(first.text, seconds, second.tokens / max(second.seconds, 1e-9))
