"""The default model, started as the local route starts it, and questions for it."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import needs

from bridge.agent_loop.chat_model import ChatRequest, Message, ModelFailed, ModelReply
from bridge.agent_loop.reply_schema import narrowed
from bridge.config import Settings
from bridge.llama.local_model import LlamaModel
from bridge.llama.model_files import find_model

SHAPE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"enum": ["success", "failed"]},
        "summary": {"type": "string", "maxLength": 60},
        "count": {"type": "integer", "minimum": 3, "maximum": 9},
    },
    "required": ["status", "summary", "count"],
}
# Takes long to fill.
LONG: dict[str, Any] = {
    "type": "array",
    "items": {"type": "string", "minLength": 200},
    "minItems": 60,
}
ASKED = (
    Message("system", "You are a careful agent, and answer in JSON. " * 12),
    Message("user", "How many legs has a dog?"),
)

# The least that it can be asked, and say.
HI = (Message("system", "You are short."), Message("user", "Hi"))
YES: dict[str, Any] = {"enum": ["yes"]}


def start(home: Path, *, temperature: float = 0.0, **settings: Any) -> LlamaModel:
    """The default model, with a home of its own."""
    needs.local_model()
    chosen = Settings(home=home, **({"local_context": 2048} | settings))
    return LlamaModel(find_model(None, chosen), chosen, temperature=temperature)


def open_model(
    wanted: str | None, settings: Settings, *, digest: str | None = None
) -> LlamaModel:
    """Find a model by its name, and start it."""
    file = find_model(wanted, settings)
    return LlamaModel(replace(file, digest=digest), settings)


def ask(
    llama: LlamaModel,
    messages: Sequence[Message] = ASKED,
    shape: dict[str, Any] | None = None,
    *,
    prefix: int = 1,
    max_tokens: int = 200,
    within_s: float = 120,
    **more: Any,
) -> ModelReply:
    """One reply; `more` are further fields of the request."""
    return llama.reply(
        ChatRequest(
            messages=messages,
            shape=narrowed(shape or SHAPE),
            prefix=prefix,
            max_tokens=max_tokens,
            deadline_s=time.monotonic() + within_s,
            **more,
        )
    )


def failure(llama: LlamaModel, *args: Any, **kwargs: Any) -> tuple[str, str]:
    """Code and message of a reply that must not come."""
    try:
        reply = ask(llama, *args, **kwargs)
    except ModelFailed as failed:
        return failed.code, str(failed)
    raise AssertionError(f"there was a reply: {reply}")
