"""The model of the local route: a model file, run by a worker process."""

from __future__ import annotations

import json
import threading
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from bridge.agent_loop.chat_model import ModelFailed, Reply, never
from bridge.llama.load_options import load_order
from bridge.llama.model_files import ModelFile, find_model, require_extra
from bridge.llama.preload import take_ahead
from bridge.llama.worker_process import WorkerProcess
from bridge.protocol.json_schema import problem_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bridge.agent_loop.chat_model import ChatModel, Message
    from bridge.config import Settings

# Low: an answer should be right rather than varied.
TEMPERATURE = 0.2
# After these the worker is gone, or no longer knows what is asked.
_FATAL = frozenset({"AGENT_002", "AGENT_005", "AGENT_006", "cancelled"})


class LlamaModel:
    """A local model, ready to reply; its process is started at once.

    It loads while the first conversation is prepared: if it cannot be loaded, the first
    reply says so.

    Args:
        file: as `find_model` found it.
        settings: for the context's length, memory and the prompt cache.
        temperature: 0 takes the likeliest token.
        seed: the same conversation, seed and model give the same reply.

    Raises:
        ExtraMissing: llama.cpp is not installed.
    """

    def __init__(
        self,
        file: ModelFile,
        settings: Settings,
        *,
        temperature: float = TEMPERATURE,
        seed: int = 0,
    ) -> None:
        require_extra()
        self._file = file
        self._temperature = temperature
        self._seed = seed
        self._closed = False
        self._gone: ModelFailed | None = None
        order = load_order(file, settings)
        self._process = take_ahead(order) or _started(order)
        # Held while the process is talked with; `close` may come from elsewhere.
        self._busy = threading.RLock()
        self._finalizer = weakref.finalize(self, self._process.close)

    @classmethod
    def open(
        cls,
        wanted: str | None,
        settings: Settings,
        *,
        beside: Path | None = None,
        digest: str | None = None,
        temperature: float = TEMPERATURE,
        seed: int = 0,
    ) -> Self:
        """Find the model by its name, as `find_model` does, and start it.

        `digest` is the SHA-256 that its file must have when it is loaded.

        Raises:
            ModelFailed: AGENT_002: there is no such model.
            ExtraMissing: llama.cpp, or the default model, is not installed.
        """
        require_extra()
        file = replace(find_model(wanted, settings, beside=beside), digest=digest)
        return cls(file, settings, temperature=temperature, seed=seed)

    @property
    def file(self) -> ModelFile:
        """The file, and what it says of itself."""
        return self._file

    @property
    def name(self) -> str:
        """Its name, as the answer will say it."""
        return self._file.name

    @property
    def is_small(self) -> bool:
        """Too small to be trusted: what it answers is marked degraded."""
        return self._file.is_small

    @property
    def pid(self) -> int | None:
        """Of its process; None when that is gone."""
        return self._process.pid

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
        """Continue the conversation; as `ChatModel.reply`.

        After AGENT_002, AGENT_005, AGENT_006 or cancelled the process is gone, and
        every further call fails in the same way.
        """
        order = {
            "do": "reply",
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            "shape": shape,
            "prefix": prefix,
            "maxTokens": max_tokens,
            "temperature": self._temperature,
            "seed": self._seed,
        }
        with self._busy:
            if self._gone is not None:
                raise ModelFailed(self._gone.code, str(self._gone))
            try:
                reply = self._exchange(order, deadline_s, on_tokens, should_stop)
            except ModelFailed as failed:
                if failed.code in _FATAL:
                    raise self._end(failed) from None
                raise
            except BaseException:
                # What the worker says next would be taken for another reply.
                self._end(ModelFailed("AGENT_006", "the reply was interrupted"))
                raise
        check_reply(shape, reply.text)
        return reply

    def close(self) -> None:
        """Let go of the model, at once, whatever it is doing."""
        self._closed = True
        self._process.kill()
        with self._busy:
            self._finalizer()
            if self._gone is None:
                self._gone = ModelFailed("AGENT_006", "the model was closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _exchange(
        self,
        order: dict[str, Any],
        deadline_s: float,
        on_tokens: Callable[[int, float], None],
        should_stop: Callable[[], bool],
    ) -> Reply:
        for said in self._process.exchange(
            order, deadline_s=deadline_s, should_stop=should_stop
        ):
            if said["is"] == "tokens":
                on_tokens(said["tokens"], said["seconds"])
            elif said["is"] == "failed":
                raise ModelFailed(said["code"], said["message"])
            elif said["is"] == "reply":
                return Reply(**said["reply"])
        raise AssertionError("an exchange ends by a reply or an error")

    def _end(self, failed: ModelFailed) -> ModelFailed:
        """End the process; returns how this and every further reply fails."""
        self._finalizer()
        code, message = failed.code, str(failed)
        if code == "AGENT_002" and (words := self._process.last_words()):
            message = f"{message}: {words}"
        elif code == "AGENT_006" and self._closed:
            message = "the model was closed"
        self._gone = ModelFailed(code, message)
        return self._gone


def check_reply(shape: dict[str, Any], text: str) -> None:
    """Raise `ModelFailed` (AGENT_003) if a reply does not satisfy its schema.

    Decoding was held to the schema. This checks it with another library, in a process
    whose memory llama.cpp cannot have touched.
    """
    try:
        problem = problem_of(shape, json.loads(text))
    except (ValueError, RecursionError) as exc:
        problem = f"not JSON: {exc}"
    if problem is not None:
        raise ModelFailed("AGENT_003", f"the reply does not satisfy it: {problem}")


def _started(order: dict[str, Any]) -> WorkerProcess:
    process = WorkerProcess()
    process.send(order)
    return process


if TYPE_CHECKING:
    _PROVED: Callable[[ModelFile, Settings], ChatModel] = LlamaModel
