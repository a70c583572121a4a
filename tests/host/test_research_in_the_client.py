"""The real client: research about a task, as its plan calls it."""

import json

import needs
import pytest
from hostworld import host_world
from mcpstage import calling, register, results
from taskstage import FOUND

from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

LOOK_AROUND = "You look around in the project"


def test_it_returns_structured_context_about_a_task(tmp_path):
    """spawn_agent(agent="researcher", task_id="#1", mode="headless")."""
    seen = []

    def model(request):
        if LOOK_AROUND not in request.prompt:
            return main(request)
        seen.append(request)
        if not request.tool_results:
            return reply(tool_use("mcp__hostbridge__get_task", {"task_id": "#1"}))
        return reply(tool_use("StructuredOutput", FOUND))

    call = {"agent": "researcher", "task_id": "#1", "mode": "headless"}
    main = obedient_model(main=calling(("spawn_agent", call)))
    env = {"BRIDGE_CLAUDE": str(needs.client())}
    with host_world(tmp_path, model, env=env) as world:
        register(world)
        world.allow("mcp__hostbridge")
        world.bridge.tasks.create("It greets", description="In app.py.")
        world.tell("one-shot", "please")
        *_, result = results(world)
        (response,) = world.responses()

    told = json.loads(result)
    assert (response.route, response.task_id) == ("claude", "#1")
    assert (told["success"], told["answer"]) == (True, FOUND)
    tools = seen[0].tools
    assert {"Read", "Glob", "Grep", "mcp__hostbridge__get_task"} <= set(tools)
    assert not {"Edit", "Write", "NotebookEdit", "Agent", "Bash"} & set(tools)
    assert "It greets" in seen[0].prompt
    assert '"title":"It greets"' in seen[1].tool_results[0].text
