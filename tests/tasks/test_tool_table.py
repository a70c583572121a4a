"""The tools by the names that a plan of 2026 gave them, and what they return.

Source: the plan's "What existing tools stay": no name and no meaning changes.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from bridge.errors import InvalidRequest
from bridge.protocol.plain_json import dumps
from bridge.tasks.calls import KeyUsed, forget
from bridge.tasks.database import Database
from bridge.tasks.task import TaskClaimed, TaskRefused
from bridge.tasks.tool_table import TOOLS

PRIMITIVES = (
    "get_task", "list_tasks", "create_task", "update_task", "claim_task", "close_task",
    "list_ready_tasks", "save_expansion_spec", "get_expansion_spec",
    "execute_expansion", "validate_task", "get_validation_status",
    "get_validation_context_smart", "orchestrate_ready_tasks", "search_memories",
)  # fmt: skip
READS = {
    "get_task", "list_tasks", "list_ready_tasks", "get_expansion_spec",
    "get_validation_status", "get_validation_context_smart", "search_memories",
}  # fmt: skip


def test_a_call_is_forgotten_with_the_run_that_made_it(tools):
    """Until then who calls again has what it gave."""
    kept = tools.store.place.state / "runs" / "r1kept"
    kept.mkdir(mode=0o700, parents=True)
    keys = ("r1kept-a-1-1", "r2gone-a-1-1")

    def called_again():
        return [tools("create_task", title="one", key=key)["id"] for key in keys]

    assert called_again() == ["#1", "#2"]
    tools.store.clock.go_on(8 * 86_400)
    forget(Database(tools.store), 9)
    assert called_again() == ["#1", "#2"]
    forget(Database(tools.store), 7)
    assert called_again() == ["#1", "#3"]
    kept.rmdir()
    forget(Database(tools.store), 7)
    assert called_again() == ["#4", "#3"]


def test_every_primitive_has_its_name():
    assert set(PRIMITIVES) <= TOOLS.keys()
    assert {name for name, tool in TOOLS.items() if not tool.changes} == READS


def test_every_tool_says_what_it_does_and_takes():
    for tool in TOOLS.values():
        assert tool.about.endswith(".")
        assert tool.schema["type"] == "object"
        assert tool.schema["additionalProperties"] is False


@pytest.mark.parametrize("ref", ["#1", "1", 1])
def test_a_task_is_called_by_its_number(tools, ref):
    tools.task("Limit uploads", priority="high", category="code")

    found = tools("get_task", task_id=ref)

    shown = {"id": "#1", "status": "open", "priority": "high", "isExpanded": False}
    assert found | shown == found
    assert tools("get_task", task_id=found["uuid"]) == found


def test_what_is_ready_comes_in_order(tools):
    tools.task("later", priority="low")
    tools.task("first", priority="high")
    tools.task("waits", depends_on=["#2"])

    ready = tools("list_ready_tasks")
    tools("close_task", task_id="#1")

    assert [each["id"] for each in ready["tasks"]] == ["#2", "#1"]
    assert ready["count"] == 2
    assert tools("list_tasks", status="closed")["count"] == 1
    assert tools("list_tasks", status=["closed", "open"])["count"] == 3
    assert tools("list_tasks", text="irs")["tasks"][0]["id"] == "#2"


def test_only_what_is_given_is_changed(tools):
    tools.task("one", description="as it was")
    tools.task("above")

    changed = tools("update_task", task_id=1, title="uno", parent_task_id="#2")

    assert (changed["title"], changed["description"]) == ("uno", "as it was")
    assert changed["parent"] == "#2"
    assert tools("update_task", task_id=1, parent="none")["parent"] is None


def test_a_task_goes_through_its_life(tools):
    tools.task("one")
    steps = [
        ("claim_task", {}, "in_progress"),
        ("release_task", {}, "open"),
        ("claim_task", {}, "in_progress"),
        ("mark_task_needs_review", {"note": "look"}, "needs_review"),
        ("escalate_task", {"reason": "stuck"}, "escalated"),
        ("reopen_task", {}, "open"),
        ("close_task", {"reason": "done"}, "closed"),
        ("close_task", {}, "closed"),
    ]

    for tool, more, status in steps:
        assert tools(tool, task_id="#1", **more)["status"] == status
        if status == "in_progress":
            with pytest.raises(TaskClaimed, match="claimed by tester"):
                tools.as_("another")("claim_task", task_id="#1")
            with pytest.raises(TaskClaimed, match="not by you"):
                tools.as_("another")("release_task", task_id="#1")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (("clsoe_task", {}), "there is no tool 'clsoe_task'; did you mean close_task?"),
        (("nonsense", {}), "there is no tool 'nonsense'; known: get_task, "),
        (("get_task", {"taskid": 1}), "no argument 'taskid'; did you mean 'task_id'?"),
        (("get_task", {"x": 1}), "get_task has no argument 'x'; known: task_id"),
        (("get_task", {}), "get_task: task_id: field required"),
        (("get_task", {"task_id": [1]}), "get_task: task_id: expected"),
        (("get_task", {"task_id": "#9"}), "there is no task #9"),
        (("get_task", {"task_id": "nine"}), "task 'nine': expected a number"),
        (("list_tasks", {"status": "opne"}), "list_tasks: status: must be 'open'"),
        (("create_task", {"title": "a\nb"}), "title: must be one line"),
        (("update_task", {"task_id": 1}), "nothing is to be changed"),
        (("orchestrate_ready_tasks", {"max_concurrent": 0}), "max_concurrent: must"),
    ],
)
def test_error_a_call_is_refused_by_name(tools, call, says):
    tools.task("one")
    name, arguments = call

    with pytest.raises(InvalidRequest, match=says.replace("?", r"\?")):
        tools(name, **arguments)


def test_arguments_of_older_pipelines_are_read(tools):
    tools.task("Epic")
    spec = {"subtasks": [{"title": "One", "validation": "it runs"}]}
    tools("save_expansion_spec", task_id="#1", spec=spec, session_id="s")

    done = tools("execute_expansion", parent_task_id="#1", session_id="s")

    assert done["created"] == ["#2"]
    assert tools("get_task", task_id=2)["validationCriteria"] == "it runs"


def test_what_a_tool_gave_can_be_given_back(tools):
    """A model spells an argument as the result that it has read."""
    task = tools.task("one", validationCriteria="it runs", dependsOn=[])
    tools.task("two", dependsOn=[task])

    changed = tools("update_task", taskId=task, validationCriteria="it runs fast")

    assert changed["validationCriteria"] == "it runs fast"
    assert tools("get_task", task_id=2)["dependsOn"] == [task]


TASK = {
    "id": "#1", "number": 1, "title": "one", "description": "", "status": "open",
    "priority": "normal", "category": "", "validationCriteria": "", "parent": None,
    "assignee": None, "reason": "", "isExpanded": False, "closedAt": None,
    "dependsOn": [], "children": 0, "closedChildren": 0,
}  # fmt: skip


def test_a_task_has_one_form(tools):
    """All of it, by the names that `task --json` has, too."""
    tools.task("one")

    found = tools("get_task", task_id=1)
    now_ms = tools.store.now_ms()

    times = {"createdAt": now_ms, "updatedAt": now_ms}
    assert found == TASK | times | {"uuid": found["uuid"]}


# Keys


def test_error_a_key_of_another_call(tools):
    tools("create_task", key="k", title="one")

    with pytest.raises(KeyUsed, match="with other arguments"):
        tools("create_task", key="k", title="two")
    with pytest.raises(KeyUsed, match="of create_task"):
        tools("claim_task", key="k", task_id="#1")
    for key in ("", "x" * 401, "\ud800", 7):
        with pytest.raises(InvalidRequest, match="expected text of 1 to 400"):
            tools("claim_task", key=key, task_id="#1")


def test_what_was_refused_is_not_remembered(tools):
    with pytest.raises(InvalidRequest):
        tools("claim_task", key="k", task_id="#1")
    tools.task("one")

    assert tools("claim_task", key="k", task_id="#1")["status"] == "in_progress"


def test_two_callers_with_one_key_at_once(tools):
    """One does it, and both are told the same."""
    create = partial(tools, "create_task", key="k", title="one")

    with ThreadPoolExecutor(8) as pool:
        got = [each.result() for each in [pool.submit(create) for _ in range(8)]]

    assert got == [got[0]] * 8
    assert tools("list_tasks")["count"] == 1


# What to work on now


def test_as_many_are_handed_out_as_there_is_room_for(tools):
    for title in "abcd":
        tools.task(title)
    tools.as_("another")("claim_task", task_id="#1")

    now = tools("orchestrate_ready_tasks", max_concurrent=3)

    assert [each["id"] for each in now["tasks"]] == ["#2", "#3"]
    assert (now["free"], now["inProgress"]) == (2, ["#1"])
    assert (now["waiting"], now["waitingCount"]) == (["#4"], 1)
    assert tools("get_task", task_id=2)["status"] == "open"


def test_only_those_below_a_task_are_handed_out_and_claimed(tools):
    tools.expanded("a", "b")
    tools.task("elsewhere")

    now = tools("orchestrate_ready_tasks", parent_task_id="#1", claim=True)
    again = tools.as_("another")("orchestrate_ready_tasks", parent_task_id="#1")

    assert [each["id"] for each in now["tasks"]] == ["#2", "#3"]
    assert {each["assignee"] for each in now["tasks"]} == {"tester"}
    assert again["tasks"] == []


# Closing


def test_all_that_a_reviewer_may_say_is_kept(tools):
    """Or a long review would end the run of a coordinator."""
    task = tools.task("one")
    said = "The review wants: " + dumps(["x" * 1_000] * 20).decode()

    noted = tools("mark_task_needs_review", task_id=task, note=said)
    assert noted["reason"] == said
    assert tools("escalate_task", task_id=task, reason=said)["reason"] == said


def test_error_a_task_with_criteria_needs_a_validation(tools):
    tools.task("one", validation_criteria="it runs")

    with pytest.raises(TaskRefused, match="it has not been validated"):
        tools("close_task", task_id="#1")

    closed = tools("close_task", task_id="#1", force=True, reason="seen by hand")

    (forced,) = tools("get_validation_status", task_id="#1")["history"]
    assert closed["reason"] == "seen by hand"
    assert (forced["state"], forced["who"]) == ("forced", "tester")
    assert forced["why"] == "seen by hand"
