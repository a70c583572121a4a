"""An agent of our own loop, whose model says what it is told to."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fakeclaude import fake_claude, printing, result, trust_folder
from runworld import ScriptedModel, call

from bridge.api.bridge import Bridge
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.worker import executors
from bridge.worker.model_executor import OpenModel
from bridge.worker.model_keys import key_of_served
from bridge.worker.worker import Executor

AGENT = """\
name: checker
routes: [endpoint]
prompt: '{{ task }}'
allow: ["Bash(echo *)"]
"""
ECHO = call("run_command", command="echo hi")


class Loop:
    """A project, its rules, and an agent whose model says what it is told to."""

    def __init__(self, bridge: Bridge, patch: pytest.MonkeyPatch) -> None:
        self.bridge = bridge
        self.home = bridge.settings.home
        self.patch = patch
        self.model = ScriptedModel([])
        (self.home / "agents").mkdir(parents=True, mode=0o700)
        self.define("checker", AGENT)

    def define(self, name: str, text: str) -> None:
        (self.home / "agents" / f"{name}.yaml").write_text(text)

    def rules(self, text: str, file: str = "rules.yaml") -> None:
        (self.home / file).parent.mkdir(exist_ok=True)
        (self.home / file).write_text(text)

    def run(self, *replies, agent="checker", accepted=lambda: None, **options):
        """Ask the agent; `accepted` is called when the request is in the store."""
        self.serve(*replies, accepted=accepted)
        options.setdefault("route", "endpoint")
        return self.bridge.ask("Look.", agent, **options).response

    def serve(self, *replies, accepted=lambda: None, degraded=False):
        """Have a model with these replies answer on the route endpoint."""
        self.model = ScriptedModel(list(replies))

        @contextmanager
        def opened(request: Request, *_: object) -> Iterator[OpenModel]:
            name = request.model or settings.openai_model or ""
            key = key_of_served(name, settings)
            yield OpenModel(self.model, degraded=degraded, key=key)

        store, settings = self.bridge.store, self.bridge.settings
        executor = executors._model_executor(settings, store, opened)

        def chosen(*_: object) -> Executor:
            accepted()
            return executor

        self.patch.setitem(executors._EXECUTORS, "endpoint", chosen)

    def log(self, response: Response, event: str) -> list[dict[str, Any]]:
        lines = self.bridge.store.run_log(response.request_id)
        return [line for line in lines if line["event"] == event]

    def claude(self, **answer: Any) -> None:
        lines = printing(result(structured_output=answer))
        program = fake_claude(self.home / "fake", lines)
        trust_folder(self.home.parent, self.bridge.store.place.project)
        self.patch.setenv("BRIDGE_CLAUDE", str(program))
