"""The real client as `claude -p`, and no session at all: a run goes to its end."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from claudeworld import command
from coordinatorworld import make_repository, review
from hostworld import host_world
from taskstage import through
from test_coordinator_in_the_client import BUILT, DONE, steps_for, task_in

from bridge.testing.stage.replies import Answer, Reply, Text, ToolUse, reply, tool_use
from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

_FORM = "StructuredOutput"


def structured(script: Callable[[ApiRequest], Answer]) -> Callable[..., Answer]:
    """A thread whose words are its answer, in the way that the client wants it."""

    def answer(request):
        if any(call["name"] == _FORM for call in request.own_calls):
            return reply("done")
        said = script(request)
        if not isinstance(said, Reply) or _FORM not in request.tools:
            return said
        words = "".join(each.text for each in said.blocks if isinstance(each, Text))
        return reply(ToolUse(_FORM, json.loads(words))) if words else said

    return answer


def agents() -> Callable[[ApiRequest], Answer]:
    """All agents of the coordinator, each a conversation of its own."""
    scripts: dict[str, Callable[[ApiRequest], Answer]] = {}

    def script(request):
        prompt = request.prompt
        if "You work on task" in prompt:
            task = task_in(prompt)
            new = structured(through(steps_for(task), DONE, task=task))
            return scripts.setdefault(prompt, new)(request)
        return structured(lambda _: other(request))(request)

    return script


def other(request: ApiRequest) -> Answer:
    if "You implement one task" in request.prompt:
        if not request.tool_results:
            folder = re.search(r"Work in the folder (\S+), a", request.prompt)
            path = f"{folder[1]}/greet.py"
            write = {"file_path": path, "content": "def greet(): ...\n"}
            return reply(tool_use("Write", write))
        answer: Any = BUILT
    elif "You decide whether the work" in request.prompt:
        answer = review()
    else:
        assert "Validate task" in request.prompt, request.prompt
        answer = {"passed": True, "feedback": []}
    return reply(json.dumps(answer))


def test_a_task_is_closed_with_no_session_at_all(tmp_path):
    """What an agent of the run asks by a tool goes by the route of the run."""
    with host_world(tmp_path, agents()) as world:
        make_repository(world.stage.project)
        world.bridge.tasks.create("It greets")
        world.bridge.tasks.create("greet() says hello", parent="#1")
        words = ("run", "coordinator", "--param", "task=1", "--route", "claude")
        ran = command(world, *words, "--json")
        statuses = [str(task.status) for task in world.bridge.tasks.list()]
        routes = {each.route for each in world.responses()}

    assert (ran.returncode, statuses) == (0, ["closed"] * 2), ran
    assert routes == {"claude"}
