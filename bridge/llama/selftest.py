"""Test a model on this machine, and its speed, with a small reply held to a schema."""

import time
from dataclasses import dataclass

from bridge.agent_loop.chat_model import ChatRequest, Message, ModelFailed
from bridge.config import Settings
from bridge.llama.local_model import LlamaModel
from bridge.llama.model_files import ModelFile

_QUESTION = Message("user", "Name three colours, and say how many they are.")
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
        seconds: the time to the reply, including loading.
        tokens_per_s: the speed of a second reply, whose prompt is already read.
        problem: what went wrong, if anything.
    """

    reply: str | None
    seconds: float
    tokens_per_s: float = 0.0
    problem: str | None = None


def try_model(file: ModelFile, settings: Settings, *, timeout_s: float) -> Tested:
    """Load a model and have it reply twice: once to test it, once to time it."""
    began_s = time.monotonic()
    request = ChatRequest(
        messages=[_QUESTION],
        shape=_SHAPE,
        prefix=0,
        max_tokens=_MAX_TOKENS,
        deadline_s=began_s + timeout_s,
    )
    try:
        with LlamaModel(file, settings, temperature=0) as model:
            first = model.reply(request)
            seconds = time.monotonic() - began_s
            second = model.reply(request)
    except ModelFailed as exc:
        spent_s = time.monotonic() - began_s
        return Tested(None, spent_s, problem=f"{exc.code}: {exc}")
    return Tested(first.text, seconds, second.tokens / max(second.seconds, 1e-9))
