"""The real client: task-expansion guides a model from a task to its subtasks."""

import pytest
from hostworld import host_world
from mcpstage import register, said
from taskstage import SPEC, ours, setting, through

from bridge.testing.stage.models import obedient_model

pytestmark = pytest.mark.host

BEGIN = "You work on task"
RESEARCH = "is to be divided into subtasks"
DESIGN = "Plan the subtasks of"
SUBTASKS = ["greet() says hello", "greet() is tested"]
DONE = {"status": "success", "summary": "Two subtasks.", "tasks": ["#2", "#3"]}
STEPS = {
    BEGIN: [ours("get_task", task_id="#1")],
    RESEARCH: [setting(research_complete=True)],
    DESIGN: [ours("save_expansion_spec", task_id="#1", spec=SPEC)],
}


def titles(world):
    return [task.title for task in world.bridge.tasks.list(parent="#1")]


def expanded(tmp_path, steps, before=lambda _world: None):
    """Have task-ops expand task #1; the response, its turns, and the subtasks."""
    agent = through(steps, DONE)
    model = obedient_model(lambda _, request: agent(request))
    with host_world(tmp_path, model) as world:
        register(world)
        world.bridge.tasks.create("It greets")
        before(world)
        with world.stream():
            response = world.ended(world.submit("", agent="task-ops", task_id="#1"))
        return response, world.api.turns("subagent"), titles(world)


def test_an_agent_is_guided_from_research_to_subtasks(tmp_path):
    """Each step's message comes with the call that opens it.

    Nobody edits before the plan is made; the model reads why.
    """
    edit = ("Write", {"file_path": "greet.py", "content": "x"})
    response, turns, subtasks = expanded(tmp_path, {**STEPS, RESEARCH: [
        edit, setting(research_complete=True),
    ]})  # fmt: skip

    assert response.success, response.error
    assert subtasks == SUBTASKS
    words = said(turns[-1])
    assert "does not allow Write" in words
    places = [words.index(mark) for mark in (BEGIN, RESEARCH, DESIGN, "is divided")]
    assert places == sorted(places)


def test_a_plan_that_was_saved_is_carried_out(tmp_path):
    """What was interrupted after that, by whatever, looks for nothing again."""

    def interrupted(world):
        given = {"task_id": "#1", "spec": SPEC}
        world.bridge.call_tool("save_expansion_spec", given)

    response, turns, subtasks = expanded(tmp_path, STEPS, interrupted)

    assert response.success, response.error
    assert subtasks == SUBTASKS
    assert RESEARCH not in said(turns[-1])
    assert "is divided" in said(turns[-1])
