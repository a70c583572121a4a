"""`ask --route claude` in a host world, and models that play its agent."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import forkserver

from bridge.testing.stage.replies import Answer, reply, tool_use
from bridge.testing.stage.turns import ApiRequest

SUCCESS = {"status": "success", "summary": "done on the stage"}


def turns(*answers: Answer) -> Callable[[ApiRequest], Answer]:
    """A model that gives one answer a turn, by what it has said so far."""

    def script(request: ApiRequest) -> Answer:
        said = sum(item.get("role") == "assistant" for item in request.messages)
        return answers[min(said, len(answers) - 1)]

    return script


def submits(value: Any) -> Answer:
    return reply(tool_use("StructuredOutput", value))


def runs(command: str) -> Answer:
    return reply(tool_use("Bash", {"command": command, "description": "d"}))


def ask(world, *words, env=None, folder=None):
    """Run `ask --route claude` in the project, or in a folder."""
    words = ("ask", "--route", "claude", "--json", *words)
    return command(world, *words, env=env, folder=folder)


def command(world, *words, env=None, folder=None):
    """Run a command in the project, as a shell of the user would; or in a folder."""
    known = world.stage.environment() | {"BRIDGE_CLAUDE": str(world.stage.program)}
    ran = forkserver.run(
        [*words], cwd=folder or world.stage.project, env=known | (env or {})
    )
    said = (ran.out.decode(), ran.err.decode())
    return subprocess.CompletedProcess(words, ran.code, *said)


def answered(ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert ran.stdout.count("\n") == 1, ran
    return json.loads(ran.stdout)
