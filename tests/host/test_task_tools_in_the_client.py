"""The tools on tasks, called by the model of the real client."""

import json

import pytest
from hostworld import code_of, host_world
from mcpstage import OURS, calling, register, results
from polling import wait_until

from bridge.tasks.tasks import Tasks
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import Reply, ToolUse, error, reply, tool_use

pytestmark = pytest.mark.host

SPEC = {"subtasks": [{"title": "part", "validation_criteria": "it runs"}]}


def passes(_prompt, _request):
    """The validator finds nothing wrong."""
    return reply(json.dumps({"passed": True, "feedback": []}))


def test_a_session_divides_validates_and_closes(tmp_path):
    """It starts the validator that it asked for, whose verdict lets the task close."""
    main = calling(
        ("save_expansion_spec", {"task_id": "#1", "spec": SPEC}),
        ("execute_expansion", {"task_id": "#1"}),
        ("claim_task", {"task_id": "#2"}),
        ("close_task", {"task_id": "#2"}),
        ("validate_task", {"task_id": "#2"}),
    )
    with host_world(tmp_path, obedient_model(passes, main=main)) as world:
        tasks = Tasks(world.bridge.store)
        tasks.create("Epic")
        register(world)
        world.allow("mcp__hostbridge")

        def verdict():
            call = {"task_id": "#2"}
            return world.bridge.call_tool("get_validation_status", call)

        with world.stream(greet=False) as session:
            session.ask("please", timeout_s=300)
            wait_until(lambda: verdict()["state"] == "passed", what="a verdict")
            (live,) = world.live()
            holder = tasks.holder_of("#2")
            assert holder.process == live.host
            closed = world.bridge.call_tool("close_task", {"task_id": "#2"})
        saved, done, claimed, refused, begun, *_ = results(world)

    assert json.loads(saved)["subtaskCount"] == 1
    assert json.loads(done)["created"] == ["#2"]
    assert json.loads(claimed)["assignee"] == f"session {live.session_id}"
    assert "task #2 cannot be closed: it has not been validated" in refused
    assert json.loads(begun)["state"] == "running"
    assert '"bridge:' in json.loads(begun)["next"]
    assert closed["status"] == "closed"


def test_a_task_of_an_agent_that_died_is_free(tmp_path):
    """Its session is still open, and so is the server that it called."""
    claims: list[str] = []

    def dies(_prompt, request):
        if OURS + "claim_task" not in request.tools:
            query = {"query": f"select:{OURS}claim_task", "max_results": 5}
            return Reply((tool_use("ToolSearch", query),), delay_s=0.2)
        claims[:] = [each.text for each in request.tool_results if "#1" in each.text]
        if not claims:
            return reply(ToolUse(OURS + "claim_task", {"task_id": "#1"}))
        return error(400, "invalid_request_error", "Not like that")

    with host_world(tmp_path, obedient_model(dies)) as world:
        tasks = Tasks(world.bridge.store)
        tasks.create("one")
        register(world)
        world.allow("mcp__hostbridge")
        request = world.submit()
        with world.stream():
            response = world.ended(request)
            (live,) = world.live()
            free = [task.ref for task in tasks.ready()]

    assert code_of(response) == "agent_error"
    (claimed,) = claims
    assert json.loads(claimed)["assignee"].startswith("agent ")
    assert live.session_id not in json.loads(claimed)["assignee"]
    assert free == ["#1"]
