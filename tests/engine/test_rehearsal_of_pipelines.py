"""A pipeline that asks nobody and changes nothing, with answers from a file."""

import pytest
from engine.pipeworld import agent, approval, pipeline, program, tool, wait, worktree

from bridge.engine.begin import new_run
from bridge.engine.rehearsal import Rehearsal

PLAN = pipeline(
    task=tool("get_task", {"task_id": "${{ inputs.task }}"}),
    note=tool("set", {"title": "${{ steps.task.output.title }}"}),
    clone=worktree("create", name="one"),
    spawn=agent("a", "Do ${{ steps.note.output.title }}", background=True),
    awaited=wait(node="spawn", deadline_s=5),
    check=program("pytest", "${{ steps.awaited.output.summary }}"),
    more=agent("b", "why", **{"if": "steps.check.output.exit_code != 0"}),
    ask=approval("Merge ${{ steps.awaited.status }}?"),
    _inputs={"task": {}},
)


def rehearsed(**answers):
    run = new_run("dry", PLAN, {"params": {"task": "#7"}}, now_ms=0)
    rehearsal = Rehearsal(PLAN, run, answers)
    return [(each.node, each.who, each.text) for each in rehearsal.go()], rehearsal.run


def test_it_says_what_each_step_would_do():
    steps, run = rehearsed(
        get_task={"title": "Limits"},
        a={"status": "success", "summary": "tests/x"},
        check={"exit_code": 0},
    )

    assert (run["status"], run["why"]) == ("completed", "")
    assert steps == [
        ("task", "get_task", '{"task_id": "#7"}'),
        ("note", "set", '{"title": "Limits"}'),
        ("clone", "clone", '{"name": "one"}'),
        ("spawn", "a", "Do Limits"),
        ("awaited", "awaited", "spawn"),
        ("check", "check", '["pytest", "tests/x"]'),
        ("ask", "ask", "Merge completed?"),
    ]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"status": "failed", "summary": "no"}, "agent_failed: no"),
        ({"status": "blocked", "question": "Why?"}, "agent_blocked: Why?"),
        ({"status": "failed"}, "it says that it failed"),
        ({"status": "error", "summary": "no"}, "no"),
        ({"status": "error"}, "it did not answer"),
    ],
    ids=str,
)
def test_an_agent_that_fails_fails_where_it_is_waited_for(said, why):
    """In the words of a run: steps that follow hand on the reason."""
    _, run = rehearsed(a=said)
    assert (run["status"], run["why"]) == ("failed", f"awaited: {why}")


def test_a_step_that_is_to_fail_says_why():
    message = "${{ inputs.task }} is open"
    plan = pipeline(end=tool("fail", {"message": message}), _inputs={"task": {}})
    run = new_run("dry", plan, {"params": {"task": "#7"}}, now_ms=0)
    rehearsal = Rehearsal(plan, run, {})
    assert [each.node for each in rehearsal.go()] == ["end"]
    assert rehearsal.run["why"] == "end: #7 is open"


def test_what_cannot_be_decided_says_so():
    _, run = rehearsed(get_task="a text")
    assert run["why"] == "note: a text has no field 'title'"
