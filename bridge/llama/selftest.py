"""Test a model on this machine, and its speed, with a small reply held to a schema.

Run as a program, it has the model that comes with the extra say one token: what was
compiled may have instructions that this processor refuses.
"""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridge.agent_loop.chat_model import ChatRequest, Message, ModelFailed
from bridge.config import Settings
from bridge.errors import ExtraMissing
from bridge.llama.local_model import LlamaModel
from bridge.llama.model_files import ModelFile, find_model

_QUESTION = Message("user", "Name three colours, and say how many they are.")
_SHAPE: dict[str, Any] = {
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
# For an emulated processor, too.
_BUILD_TIMEOUT_S = 600.0


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
    request = _request(_SHAPE, timeout_s)
    try:
        with LlamaModel(file, settings, temperature=0) as model:
            first = model.reply(request)
            seconds = time.monotonic() - began_s
            second = model.reply(request)
    except ModelFailed as exc:
        spent_s = time.monotonic() - began_s
        return Tested(None, spent_s, problem=f"{exc.code}: {exc}")
    return Tested(first.text, seconds, second.tokens / max(second.seconds, 1e-9))


def try_build() -> None:
    """Have the model that comes with the extra say one token.

    Raises:
        ModelFailed: it does not.
        ExtraMissing: the extra is not installed, or lacks the model.
    """
    # No model and no cache of the user's.
    settings = Settings(home=Path("/nowhere"), local_cache_mb=0)
    with LlamaModel(find_model(None, settings), settings, temperature=0) as model:
        model.reply(_request({"const": 3}, _BUILD_TIMEOUT_S))


def _request(shape: dict[str, Any], timeout_s: float) -> ChatRequest:
    return ChatRequest(
        messages=[_QUESTION],
        shape=shape,
        prefix=0,
        max_tokens=_MAX_TOKENS,
        deadline_s=time.monotonic() + timeout_s,
    )


if __name__ == "__main__":
    try:
        try_build()
    except (ModelFailed, ExtraMissing) as failed:
        sys.exit(f"selftest: {failed}")
