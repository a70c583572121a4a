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
DONE = {"status": "success", "summary": "Two subtasks.", "tasks": ["#2", "#3"]}


def test_an_agent_is_guided_from_research_to_subtasks(tmp_path):
    """Each step's message comes with the call that opens it.

    Nobody edits before the plan is made; the model reads why.
    """
    edit = ("Write", {"file_path": "greet.py", "content": "x"})
    steps = {
        BEGIN: [ours("get_task", task_id="#1")],
        RESEARCH: [edit, setting(research_complete=True)],
        DESIGN: [ours("save_expansion_spec", task_id="#1", spec=SPEC)],
    }
    agent = through(steps, DONE)
    model = obedient_model(lambda _, request: agent(request))
    with host_world(tmp_path, model) as world:
        register(world)
        world.bridge.tasks.create("It greets")
        with world.stream():
            response = world.ended(world.submit("", agent="task-ops", task_id="#1"))
        titles = [task.title for task in world.bridge.tasks.list(parent="#1")]

    assert response.success, response.error
    assert titles == ["greet() says hello", "greet() is tested"]
    words = said(world.api.turns("subagent")[-1])
    assert "does not allow Write" in words
    places = [words.index(mark) for mark in (BEGIN, RESEARCH, DESIGN, "is divided")]
    assert places == sorted(places)
