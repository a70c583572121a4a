"""A project with files, and a model with scripted replies."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bridge.agent_loop.chat_model import ChatRequest, Message, ModelFailed, ModelReply
from bridge.agent_loop.job import NO_DEFINITION, Job
from bridge.agent_loop.loop import run
from bridge.agent_loop.workspace import Refused
from bridge.agents.definition import Definition, ScriptTool, Source
from bridge.protocol.outcome import Outcome
from bridge.protocol.request import Request

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


def runs(command: str) -> str:
    """A reply that runs a command."""
    return call("run_command", command=command)


# A reply that never comes: the model is at work until it should stop.
AT_WORK = object()


@dataclass
class ScriptedModel:
    """Gives one reply a turn, and repeats the last; keeps the requests."""

    replies: list[Any]
    name: str = "scripted"
    is_small: bool = False
    asked: list[list[Message]] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)
    prefixes: list[int] = field(default_factory=list)

    def reply(self, request: ChatRequest) -> ModelReply:
        self.asked.append(list(request.messages))
        self.shapes.append(request.shape)
        self.prefixes.append(request.prefix)
        said = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(said, BaseException):
            raise said
        request.on_tokens(10, 0.5)
        if said is AT_WORK:
            while not request.should_stop():
                pass
            raise ModelFailed("cancelled", "the reply is no longer wanted")
        text = said(request.messages) if callable(said) else said
        return ModelReply(
            text, prompt_tokens=100, cached_tokens=60, tokens=20, seconds=0.5
        )

    def close(self) -> None:
        """There is nothing to release."""

    def results(self) -> list[str]:
        """The results and errors in its last conversation, in order."""
        last = self.asked[-1][self.prefixes[-1] + 1 :]
        return [m.content for m in last if m.role == "user"]


def definition(**fields: Any) -> Definition:
    source = Source(
        file=Path("checker.yaml"), layer="user", spelling="yaml", digest="0"
    )
    return Definition(**{"name": "checker", "source": source, **fields})


def script_tool(name: str, code: str, **fields: Any) -> ScriptTool:
    """A tool of a definition that is a script."""
    usual: dict[str, Any] = {"pym": Path(f"{name}.pym"), "description": "A script."}
    usual["parameters"] = {"type": "object", "properties": {}}
    return ScriptTool(name=name, code=code, **(usual | fields))


def refusal(act: Callable[..., Any], *args: Any) -> str:
    """Why a call is refused."""
    with pytest.raises(Refused) as caught:
        act(*args)
    return str(caught.value)


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
        seconds: float = 600.0,
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
                definition=agent or NO_DEFINITION,
                model=self.model,
                project=self.project,
                deadline_s=time.monotonic() + seconds,
                log=self.log.append,
                **job,
            )
        )

    def events(self) -> list[str]:
        return [event["event"] for event in self.log]
