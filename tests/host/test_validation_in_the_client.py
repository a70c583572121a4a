"""The real client: task-validation has a task mended until it passes."""

import json

import pytest
from hostworld import host_world
from mcpstage import register
from taskstage import ours, setting, through

from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply

pytestmark = pytest.mark.host

CONTEXT = "is to be validated. Call"
FIRST = "Call mcp__hostbridge__validate_task with task_id"
AGAIN = "Call mcp__hostbridge__validate_task again"
FIX = "Fix each of these in the files"
JUDGE = "You decide whether a task is done"
DONE = {"status": "success", "summary": "It has ended."}
STEPS = {
    "You work on task": [ours("get_task", task_id="#1")],
    CONTEXT: [ours("get_validation_context_smart", task_id="#1")],
    FIRST: [ours("validate_task", task_id="#1")],
    AGAIN: [ours("validate_task", task_id="#1")],
    FIX: [setting(fix_done=True)],
}


def test_it_mends_until_it_passes_and_closes_the_task(tmp_path):
    agent, verdicts = through(STEPS, DONE), [False, True]

    def answers(prompt, request):
        if JUDGE not in prompt:
            return agent(request)
        passed = verdicts.pop(0)
        feedback = [] if passed else ["greet.py is missing"]
        return reply(json.dumps({"passed": passed, "feedback": feedback}))

    with host_world(tmp_path, obedient_model(answers)) as world:
        register(world)
        world.bridge.tasks.create("It greets", validation_criteria="greet.py is there")
        asked = {"agent": "task-ops", "task_id": "#1", "workflow": "validation"}
        with world.stream():
            response = world.ended(world.submit("", **asked))

    assert response.success, response.error
    assert str(world.bridge.tasks.get("#1").status) == "closed"
    assert verdicts == []
