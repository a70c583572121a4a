"""A project with files, and a model whose replies are written down beforehand."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.agent_loop.chat_model import Message, ModelFailed, Reply
from bridge.agent_loop.job import Job, Outcome
from bridge.agent_loop.loop import run
from bridge.agents.definition import Definition, Source
from bridge.protocol.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


FOUND = {
    "type": "object",
    "properties": {"files": {"type": "array", "items": {"type": "string"}}},
    "required": ["files"],
    "additionalProperties": False,
}


def call(tool: str, **arguments: Any) -> str:
    """A reply that calls a tool."""
    return json.dumps({"tool": tool, "arguments": arguments})


def submit(status: str = "success", summary: str = "done", **more: Any) -> str:
    """A reply that answers."""
    return call("submit_result", status=status, summary=summary, **more)


# Said by a model that thinks until it is told to stop.
AT_WORK = object()


@dataclass
class ScriptedModel:
    """Says what it was given to say, one reply a turn; keeps what it was asked."""

    replies: list[Any]
    name: str = "scripted"
    is_small: bool = False
    asked: list[list[Message]] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)
    prefixes: list[int] = field(default_factory=list)

    def reply(
        self,
        messages: Sequence[Message],
        shape: dict[str, Any],
        *,
        prefix: int,
        max_tokens: int,  # noqa: ARG002 - the Protocol's
        deadline_s: float,  # noqa: ARG002 - the same
        on_tokens: Callable[[int, float], None],
        should_stop: Callable[[], bool],
    ) -> Reply:
        self.asked.append(list(messages))
        self.shapes.append(shape)
        self.prefixes.append(prefix)
        said = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(said, BaseException):
            raise said
        on_tokens(10, 0.5)
        if said is AT_WORK:
            while not should_stop():
                pass
            raise ModelFailed("cancelled", "the reply was wanted no more")
        text = said(messages) if callable(said) else said
        return Reply(text, prompt_tokens=100, cached_tokens=60, tokens=20, seconds=0.5)

    def close(self) -> None:
        """Nothing to let go."""

    def results(self) -> list[str]:
        """What came back to the model, in order, from its last conversation."""
        last = self.asked[-1][self.prefixes[-1] + 1 :]
        return [m.content for m in last if m.role == "user"]


def definition(**fields: Any) -> Definition:
    source = Source(
        file=Path("checker.yaml"), layer="user", spelling="yaml", digest="0"
    )
    return Definition(**{"name": "checker", "source": source, **fields})


class World:
    """A project folder, and runs in it."""

    def __init__(self, folder: Path) -> None:
        self.project = folder
        self.log: list[dict[str, Any]] = []
        self.model = ScriptedModel([submit()])

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def run(
        self,
        *replies: Any,
        agent: Definition | None = None,
        asks: str = "Is all well?",
        schema: dict[str, Any] | None = None,
        seconds: float = 30.0,
        is_small: bool = False,
        request: dict[str, Any] | None = None,
        **job: Any,
    ) -> Outcome:
        self.model = ScriptedModel(list(replies), is_small=is_small)
        asked = Request(
            request_id="r1", prompt=asks, answer_schema=schema, **(request or {})
        )
        return run(
            Job(
                request=asked,
                definition=agent,
                model=self.model,
                project=self.project,
                deadline_s=time.monotonic() + seconds,
                log=self.log.append,
                **job,
            )
        )

    def events(self) -> list[str]:
        return [event["event"] for event in self.log]
