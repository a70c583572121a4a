"""The real client: task-validation mends until it passes, or escalates at its bound."""

import json

import needs
import pytest
from hostworld import host_world
from mcpstage import register
from taskstage import ours, setting, through

from bridge.protocol import plain_json
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply, tool_use

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


def model_with(verdicts):
    """An agent that goes through the workflow, and a validator that judges so."""
    agent = through(STEPS, DONE)
    left = list(verdicts)
    looked = []

    def answers(prompt, request):
        if JUDGE in prompt:
            passed = left.pop(0)
            looked.append(passed)
            feedback = [] if passed else ["greet.py is missing"]
            verdict = {"passed": passed, "feedback": feedback}
            return reply(plain_json.dumps(verdict).decode())
        return agent(request)

    return obedient_model(answers), looked


def validated(tmp_path, verdicts):
    model, looked = model_with(verdicts)
    with host_world(tmp_path, model) as world:
        register(world)
        world.bridge.tasks.create("It greets", validation_criteria="greet.py is there")
        with world.stream():
            asked = world.submit(
                "", agent="task-ops", task_id="#1", workflow="validation"
            )
            response = world.ended(asked, timeout_s=120)
        return response, world.bridge.tasks.get("#1"), looked


def test_it_mends_until_it_passes_and_closes_the_task(tmp_path):
    response, task, looked = validated(tmp_path, [False, True])

    assert response.success, response.error
    assert (str(task.status), looked) == ("closed", [False, True])


def test_it_escalates_exactly_at_its_bound(tmp_path):
    """Three looks, as the setting says, and not one more."""
    response, task, looked = validated(tmp_path, [False] * 9)

    assert response.success, response.error
    assert (str(task.status), len(looked)) == ("escalated", 3)
    assert "greet.py is missing" in task.reason


def test_a_second_opinion_comes_before_closing(tmp_path):
    """By a process of its own; what it wants is mended, and looked at again."""
    reviews = []
    steps = STEPS | {
        "For a second opinion": [
            ours("spawn_agent", agent="qa-reviewer", task_id="#1", mode="headless")
        ]
    }
    agent = through(steps, DONE)

    def answers(prompt, request):
        if JUDGE in prompt:
            return reply(json.dumps({"passed": True, "feedback": []}))
        return agent(request)

    serve = obedient_model(answers)

    def model(request):
        if "You decide whether the work" not in request.prompt:
            return serve(request)
        reviews.append(request)
        feedback = ["greet() says nothing"] if len(reviews) == 1 else []
        answer = {
            "approved": not feedback, "feedback": feedback, "summary": "Read.",
            "evidence": [],
        }  # fmt: skip
        return reply(tool_use("StructuredOutput", answer))

    env = {"BRIDGE_CLAUDE": str(needs.client())}
    with host_world(tmp_path, model, env=env) as world:
        register(world)
        world.bridge.tasks.create("It greets", validation_criteria="greet.py is there")
        with world.stream():
            asked = world.submit(
                "", agent="task-ops", task_id="#1", workflow="validation",
                variables={"wants_external_review": True},
            )  # fmt: skip
            response = world.ended(asked, timeout_s=150)
        status = str(world.bridge.tasks.get("#1").status)
        words = world.subagent_words()

    assert response.success, response.error
    assert (status, len(reviews)) == ("closed", 2)
    assert words.index("- greet() says nothing") < words.index("again with task_id")
