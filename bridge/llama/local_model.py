"""The model of the local route: a model file, answered for by a worker."""

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
from bridge.llama.worker_process import (
    WorkerDied,
    WorkerHung,
    WorkerProcess,
    WorkerUnwanted,
)
from bridge.protocol.json_schema import problem_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bridge.agent_loop.chat_model import ChatModel, Message
    from bridge.config import Settings
    from bridge.protocol.failure_codes import FailureCode

# Low: an agent's answer is to be right before it is to be varied.
TEMPERATURE = 0.2


class LlamaModel:
    """A local model, ready to reply; its process is started at once.

    Loading goes on while the first conversation is prepared: what is wrong with it is
    told by the first reply.

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
            except ModelFailed:
                raise
            except BaseException:
                # Interrupted: what the worker says next would be taken for another's.
                self._end("AGENT_006", "the reply was interrupted")
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
        try:
            for said in self._process.exchange(
                order, deadline_s=deadline_s, should_stop=should_stop
            ):
                if said["is"] == "tokens":
                    on_tokens(said["tokens"], said["seconds"])
                elif said["is"] == "failed":
                    raise self._failure(said["code"], said["message"])
                elif said["is"] == "reply":
                    return _reply(said)
        except WorkerDied as died:
            how = "the model was closed" if self._closed else str(died)
            raise self._end("AGENT_006", how) from None
        except WorkerUnwanted:
            raise self._end("cancelled", "the reply was wanted no more") from None
        except WorkerHung:
            raise self._end(
                "AGENT_005", "the deadline passed while the model was at work"
            ) from None
        raise AssertionError("an exchange ends by a reply or an error")

    def _failure(self, code: FailureCode, message: str) -> ModelFailed:
        """What the worker said; it ends by itself where it could not load."""
        if code != "AGENT_002":
            return ModelFailed(code, message)
        self._process.close()
        words = self._process.last_words()
        return self._end(code, f"{message}: {words}" if words else message)

    def _end(self, code: FailureCode, message: str) -> ModelFailed:
        self._finalizer()
        self._gone = ModelFailed(code, message)
        return self._gone


def check_reply(shape: dict[str, Any], text: str) -> None:
    """Raise `ModelFailed` (AGENT_003) if a reply does not satisfy its schema.

    Decoding was held to the schema. Another library checks it again, in a process whose
    memory llama.cpp cannot have touched.
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


def _reply(said: dict[str, Any]) -> Reply:
    return Reply(
        text=said["text"],
        prompt_tokens=said["promptTokens"],
        cached_tokens=said["cachedTokens"],
        tokens=said["tokens"],
        seconds=said["seconds"],
    )


if TYPE_CHECKING:
    _PROVED: Callable[[ModelFile, Settings], ChatModel] = LlamaModel
