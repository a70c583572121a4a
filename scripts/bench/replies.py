"""Time an agent that asks back: from its question to its going on with the reply.

Its program replies at once, while the hook holds the agent. The floor is an agent that
a bare hook has go on. Most of what is more is the second after which a program that
waits looks whether it is asked; beside it stands a start of Python with pydantic and
jinja2, which is what a hook with work to do costs on any machine.
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from bench import host
from bench.floors import FLOORS
from bench.table import Row
from bench.timing import Series, run
from bench.wakes import PAUSE_S, START, enter, open_bridge
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.models import agent_output, obedient_model
from bridge.testing.stage.replies import Reply, reply, tool_use

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.testing.stage.turns import ApiRequest

FORM = {"type": "string"}
QUESTION = {"hostbridge_question": {"words": "Which colour?", "form": FORM}}
START_ONE = "Start agent"
# Blocks an agent's end, once.
BLOCK = (
    "grep -q '\"stop_hook_active\":true' || "
    """printf '{"decision":"block","reason":"red"}'"""
)


def measure(root: Path, rounds: int) -> list[Row]:
    """Both agents, in turn, each after a pause."""
    asking, blocked = Answerer(), Answerer()
    with ExitStack() as stack:
        api = stack.enter_context(ScriptedApi(obedient_model(asking)))
        stage = host.world(root / "ours", api, host.our_hooks())
        enter(stack, stage, "stream")
        bridge = open_bridge(stage)
        api = stack.enter_context(
            ScriptedApi(obedient_model(blocked, main=_starting_agents))
        )
        bare = host.world(root / "bare", api, _blocking_once())
        say = enter(stack, bare, "stream")
        starts = Series()
        for turn in range(-1, rounds):
            time.sleep(PAUSE_S)
            done = bridge.ask("Paint it.", on_question=lambda _: "red", timeout_s=60)
            assert done.success
            time.sleep(PAUSE_S)
            say(f"{START_ONE} {turn}")
            start = run(FLOORS["library"], stage.environment()).ms / 1000
            if turn >= 0:
                starts.values.append(start)
    return _rows(asking.found(rounds), blocked.found(rounds), starts)


def _rows(ours: Series, bare: Series, starts: Series) -> list[Row]:
    pairs = zip(ours.values, bare.values, strict=True)
    added = Series([one - other for one, other in pairs])
    what = f"  what we add, in starts of {START}"
    return [
        Row("asked back -> goes on; blocked by a hook", ours, bare, unit="s"),
        Row(what, added, starts, unit="s"),
    ]


class Answerer:
    """An agent that ends with a question, goes on, and then answers."""

    def __init__(self) -> None:
        self._asked_s = 0.0
        self._took_s: list[float] = []

    def __call__(self, _prompt: str, request: ApiRequest) -> Reply:
        """Give one turn of the model."""
        if not any(each.get("role") == "assistant" for each in request.messages):
            self._asked_s = time.monotonic()
            return reply(json.dumps(QUESTION))
        self._took_s.append(request.time_s - self._asked_s)
        return agent_output()

    def found(self, rounds: int) -> Series:
        """The seconds from question to going on, of the last rounds."""
        assert len(self._took_s) == rounds + 1, self._took_s
        return Series(self._took_s[1:])


def _starting_agents(request: ApiRequest) -> Reply:
    """Start an agent, and wait for it, where the user says so."""
    if START_ONE not in request.newest_text:
        return reply("ok")
    call = {"description": "b", "prompt": "Paint it.", "run_in_background": False}
    return reply(tool_use("Agent", call))


def _blocking_once() -> dict[str, list[dict[str, Any]]]:
    hook = {"type": "command", "command": "/bin/sh", "args": ["-c", BLOCK]}
    return {"SubagentStop": [{"hooks": [hook]}]}
