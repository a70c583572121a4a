"""The model of the local route: a model file, run by a worker process."""

import json
import threading
import weakref
from dataclasses import asdict
from typing import Any, Self

from bridge.agent_loop.chat_model import ChatRequest, ModelFailed, ModelReply
from bridge.config import Settings
from bridge.errors import reason_of
from bridge.llama.load_options import load_order
from bridge.llama.model_files import ModelFile, require_extra
from bridge.llama.preload import take_ahead
from bridge.llama.worker_client import WorkerProcess
from bridge.protocol.json_schema import problem_of

# Low: an answer should be right rather than varied.
TEMPERATURE = 0.2
# After these the worker is gone, or no longer knows what is asked.
_FATAL = frozenset({"model_unavailable", "timeout", "model_died", "cancelled"})


class LlamaModel:
    """A local model, ready to reply; its process starts at once.

    The same conversation, temperature and file give the same reply. The model loads
    while the first conversation is prepared; if it cannot be loaded, the first reply
    fails.

    Attributes:
        file: the model's file, as `find_model` found it.
        name: its name in answers.
        is_small: too small to be trusted.

    Args:
        settings: for the context's length, memory and the prompt cache.
        temperature: 0 takes the likeliest token.

    Raises:
        ExtraMissing: llama.cpp is not installed.
    """

    def __init__(
        self, file: ModelFile, settings: Settings, *, temperature: float = TEMPERATURE
    ) -> None:
        require_extra()
        self.file = file
        self.name = file.name
        self.is_small = file.is_small
        self._temperature = temperature
        self._closed = False
        self._gone: ModelFailed | None = None
        order = load_order(file, settings)
        self._process = take_ahead(order) or _started(order)
        # Held during an exchange; `close` may be called from another thread.
        self._busy = threading.RLock()
        self._finalizer = weakref.finalize(self, self._process.close)

    @property
    def pid(self) -> int | None:
        """The pid of its process; None if that is gone."""
        return self._process.pid

    def reply(self, request: ChatRequest) -> ModelReply:
        """Continue a conversation, as `ChatModel.reply`.

        After a code of `_FATAL` the process is gone, and every further call fails in
        the same way.
        """
        with self._busy:
            if self._gone is not None:
                raise ModelFailed(self._gone.code, str(self._gone))
            try:
                reply = self._exchange(request)
            except ModelFailed as failed:
                if failed.code in _FATAL:
                    raise self._end(failed) from None
                raise
            except BaseException:
                # The worker's next lines would be taken for another reply.
                self._end(ModelFailed("model_died", "the reply was interrupted"))
                raise
        check_reply(request.shape, reply.text)
        return reply

    def close(self) -> None:
        """End the process at once, whatever it is doing."""
        self._closed = True
        self._process.kill()
        with self._busy:
            self._end(ModelFailed("model_died", "the model was closed"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _exchange(self, request: ChatRequest) -> ModelReply:
        order = {
            "do": "reply",
            "messages": [asdict(message) for message in request.messages],
            "shape": request.shape,
            "prefix": request.prefix,
            "maxTokens": request.max_tokens,
            "temperature": self._temperature,
            "seed": 0,
        }
        for answer in self._process.exchange(
            order, deadline_s=request.deadline_s, should_stop=request.should_stop
        ):
            if answer["is"] == "tokens":
                request.on_tokens(answer["tokens"], answer["seconds"])
            elif answer["is"] == "failed":
                raise ModelFailed(answer["code"], answer["message"])
            elif answer["is"] == "reply":
                return ModelReply(**answer["reply"])
        raise AssertionError("an exchange ends with a reply or an error")

    def _end(self, failed: ModelFailed) -> ModelFailed:
        """End the process; returns the failure of this and of every further reply."""
        self._finalizer()
        code, message = failed.code, str(failed)
        if code == "model_unavailable" and (words := self._process.last_words()):
            message = f"{message}: {words}"
        elif code == "model_died" and self._closed:
            message = "the model was closed"
        self._gone = ModelFailed(code, message)
        return self._gone


def check_reply(shape: dict[str, Any], text: str) -> None:
    """Raise `ModelFailed` (schema_mismatch) if a reply does not satisfy its schema.

    The grammar has already enforced the schema. This checks it again with another
    library, in a process whose memory llama.cpp cannot have damaged.
    """
    try:
        problem = problem_of(shape, json.loads(text))
    except (ValueError, RecursionError) as exc:
        problem = f"not JSON: {exc}"
    if problem is not None:
        raise ModelFailed(
            "schema_mismatch", f"the reply does not satisfy it: {problem}"
        )


def _started(order: dict[str, Any]) -> WorkerProcess:
    try:
        process = WorkerProcess()
    except OSError as exc:
        why = f"its process cannot be started: {reason_of(exc)}"
        raise ModelFailed("model_unavailable", why) from None
    process.send(order)
    return process
