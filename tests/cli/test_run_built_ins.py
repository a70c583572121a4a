"""The built-in workflows and agents by a person who knows nothing of YAML."""

from __future__ import annotations

import json

import pytest
from scripted_server import say

DEVELOPED = {"status": "success", "summary": "It greets.", "files": [], "evidence": []}
REVIEWED = {"approved": True, "feedback": [], "summary": "Read.", "evidence": []}
JUDGED = {"passed": True, "feedback": []}


@pytest.fixture
def task(project):
    return project.bridge.tasks.create("It greets", validation_criteria="it does")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("task-expansion --param task=99", 1, "there is no task #99"),
        ("task-validation --param task=99", 1, "there is no task #99"),
        ("coordinator --param task=99", 1, "there is no task #99"),
        ("task-expansion --param task=soon", 2, "'soon'"),
        ("task-expansion", 2, "needs the input 'task': --param task=..."),
        ("task-expansion --param tsak=1", 2, "no input 'tsak'; did you mean 'task'?"),
        ("coordinator --param session_task=99", 1, "there is no task #99"),
        ("task-expansion --param target_task_id=99", 1, "there is no task #99"),
        ("coordinator", 2, "needs the input 'task'"),
    ],
)
def test_error_it_is_said_what_is_missing(project, claude, words, code, message):
    ran = project.run("run", *words.split(), "--route", "claude")

    assert ran.code == code, ran
    assert message in ran.err
    assert not (claude / "stdin").exists()


@pytest.mark.parametrize("name", ["task-expansion", "task-validation", "coordinator"])
def test_error_a_task_that_is_not_there_is_said_before_who_is_missing(project, name):
    ran = project.run("run", name, "--param", "task=99")

    assert ran.code == 1
    assert "there is no task #99" in ran.err
    assert "see which there are: hostbridge task" in ran.err
    assert "session" not in ran.err
    assert project.run("runs", "--json").out == ""


def test_error_a_word_with_a_task_that_is_no_agent(project, task):
    ran = project.run("ask", "task-ps", "--task-id", task.ref)

    assert ran.code == 2
    assert "no agent is named 'task-ps'; did you mean task-ops" in ran.err
    assert "ask general-purpose task-ps --task-id '#1'" in ran.err
    assert "session" not in ran.err


def test_error_nobody_who_could_do_it(project, task):
    """The ways on are named, and the task is as it was."""
    ran = project.run("run", "task-expansion", "--param", f"task={task.ref}")

    assert ran.code == 4
    assert "--route claude" in ran.err
    assert str(project.bridge.tasks.get(task.ref).status) == "open"


def test_error_a_route_that_its_agent_does_not_take(endpoint, task):
    words = ("--param", f"task={task.ref}", "--route", "endpoint")
    ran = endpoint.run("run", "task-expansion", *words)

    assert ran.code == 2
    assert "does not take the route endpoint; it takes host or claude" in ran.err


@pytest.mark.parametrize(
    ("agent", "answer"),
    [
        ("developer", DEVELOPED),
        ("merge", DEVELOPED),
        ("qa-reviewer", REVIEWED),
        ("task-validator", JUDGED),
    ],
)
def test_an_agent_of_the_coordinator_on_a_model_server(
    endpoint, server, task, agent, answer
):
    """It has the tools that it lists, and writes files only if it is to."""
    calls = [
        {"tool": "mcp__hostbridge__get_task", "arguments": {"task_id": task.ref}},
        {"tool": "write_file", "arguments": {"path": "greet.py", "content": "x = 1\n"}},
        {"tool": "submit_result", "arguments": answer},
    ]
    writes = agent in ("developer", "merge")
    if not writes:
        del calls[1]
    if agent == "merge":
        del calls[0]
    server.acts = [say(json.dumps(call)) for call in calls]

    words = ("--task-id", task.ref, "--route", "endpoint", "--json")
    ran = endpoint.run("ask", agent, *words)

    told = json.dumps([asked["messages"] for asked in server.asked])
    assert ran.json["parsedOutput"] == answer, ran
    assert "It greets" in told
    assert ("validation_criteria" in told) is (agent != "merge")
    assert (endpoint.folder / "greet.py").exists() is writes
