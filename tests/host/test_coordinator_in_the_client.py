"""The real client: a task that nobody has divided goes through to closed subtasks."""

import json
import re

import pytest
from coordinatorworld import make_repository, review
from hostworld import host_world
from mcpstage import OURS, register
from taskstage import SPEC, ours, setting, through

from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

EXPANDED = {
    "is to be divided into subtasks": [setting(research_complete=True)],
    "Plan the subtasks of": [ours("save_expansion_spec", task_id="#1", spec=SPEC)],
}
CONTEXT = "get_validation_context_smart"
DONE = {"status": "success", "summary": "It has ended."}
BUILT = {"status": "success", "summary": "Done.", "files": [], "evidence": []}


def task_in(prompt):
    return re.search(r"You work on task (#\d+)", prompt)[1]


def steps_for(task):
    """What an agent of task-ops does in either of its workflows."""
    return {
        "You work on task": [ours("get_task", task_id=task)],
        **EXPANDED,
        "is to be validated. Call": [ours(CONTEXT, task_id=task)],
        f"Call {OURS}validate_task with task_id": [ours("validate_task", task_id=task)],
    }


def model(rejects=0):
    """All agents of the coordinator; the first reviews send the work back."""
    scripts, reviews, built = {}, [], []

    def answers(prompt, request):
        if "You work on task" in prompt:
            task = task_in(prompt)
            new = through(steps_for(task), DONE, task=task)
            return scripts.setdefault(request.agent_id, new)(request)
        if "You implement one task" in prompt:
            folder = re.search(r"Work in the folder (\S+), a worktree", prompt)[1]
            if not request.tool_results:
                built.append("sent back" in prompt)
                path = f"{folder}/greet{len(built)}.py"
                write = {"file_path": path, "content": "def greet(): ...\n"}
                return reply(tool_use("Write", write))
            return reply(json.dumps(BUILT))
        if "You decide whether the work" in prompt:
            reviews.append(prompt)
            feedback = [] if len(reviews) > rejects else ["greet() is not typed"]
            return reply(json.dumps(review(*feedback)))
        assert "You decide whether a task is done" in prompt, prompt[:200]
        return reply(json.dumps({"passed": True, "feedback": []}))

    return obedient_model(answers), reviews, built


@pytest.mark.parametrize("rejects", [pytest.param(0, marks=pytest.mark.full), 1])
def test_an_epic_becomes_closed_tasks(tmp_path, rejects):
    """It is expanded, then each subtask is built, reviewed, validated and merged."""
    script, reviews, built = model(rejects)
    with host_world(tmp_path, script) as world:
        register(world)
        make_repository(world.stage.project)
        world.bridge.tasks.create("It greets")
        with world.stream():
            done = world.bridge.run(
                "coordinator", {"session_task": "#1"}, timeout_s=300
            )
        tasks = world.bridge.tasks.list()
        made = sorted(f.name for f in world.stage.project.glob("greet*.py"))

    assert done.success, done.why
    assert [str(task.status) for task in tasks] == ["closed"] * 3
    assert len(reviews) == len(built) == 2 + rejects
    assert built == [False, *[True] * rejects, False]
    assert made == [f"greet{n}.py" for n in range(1, 3 + rejects)]
