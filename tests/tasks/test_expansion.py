"""A task is divided: checked as a whole, made at once, and once."""

from __future__ import annotations

import pytest

from bridge.tasks.expansion import AlreadyExpanded, NoSpec
from bridge.tasks.expansion_spec import BadSpec, read
from bridge.tasks.task import TaskRefused

SPEC = {
    "subtasks": [
        {"id": "parse", "title": "Write the parser", "category": "code"},
        {
            "title": "Test it",
            "description": "With real files.",
            "depends_on": ["parse"],
            "priority": "high",
            "validation_criteria": "pytest passes",
        },
        {"title": "Describe it", "depends_on": [0, 1]},
    ]
}


def test_a_spec_becomes_tasks(tools):
    tools.task("Epic")
    saved = tools("save_expansion_spec", task_id="#1", spec=SPEC)
    before = tools("get_task", task_id="#1")
    pending = tools("get_expansion_spec", task_id="#1")

    done = tools("execute_expansion", task_id="#1")

    assert saved == {
        "saved": True, "task_id": "#1", "subtask_count": 3, "pending": True,
    }  # fmt: skip
    assert before["is_expanded"] is False
    assert (pending["pending"], pending["subtask_count"]) == (True, 3)
    assert done["created"] == ["#2", "#3", "#4"]
    assert (done["count"], done["was_done"]) == (3, False)
    assert tools("get_task", task_id="#1")["is_expanded"] is True
    test = tools("get_task", task_id="#3")
    assert test["parent"] == "#1"
    assert test["depends_on"] == ["#2"]
    assert (test["priority"], test["validation_criteria"]) == ("high", "pytest passes")
    assert tools("get_task", task_id="#4")["depends_on"] == ["#2", "#3"]
    assert tools("get_expansion_spec", task_id="#1")["pending"] is False


def test_the_same_again_changes_nothing(tools):
    tools.expanded("a", "b")

    again = tools("execute_expansion", task_id="#1")
    saved = tools("save_expansion_spec", task_id=1, spec={"tasks": ["a", "b"]})

    assert again["created"] == ["#2", "#3"]
    assert again["was_done"] is True
    assert saved["pending"] is False
    assert tools("list_tasks")["count"] == 3


def test_error_another_spec_after_the_first(tools):
    tools.expanded("a", "b", "c", "d", "e", "f", "g")

    with pytest.raises(AlreadyExpanded, match="into #2, #3, #4, #5, #6 and 2 more"):
        tools("save_expansion_spec", task_id="#1", spec={"subtasks": ["x"]})


def test_a_spec_that_was_not_executed_is_replaced(tools):
    tools.task("Epic")
    tools("save_expansion_spec", task_id="#1", spec={"subtasks": ["a"]})
    tools("save_expansion_spec", task_id="#1", spec={"subtasks": ["b", "c"]})

    assert tools("execute_expansion", task_id="#1")["count"] == 2


def test_it_is_divided_anew_once_its_parts_were_deleted(tools):
    tools.expanded("a")
    from bridge.tasks.tasks import Tasks

    Tasks(tools.store).delete("#2")
    tools("save_expansion_spec", task_id="#1", spec={"subtasks": ["b"]})

    # A number is never used again.
    assert tools("execute_expansion", task_id="#1")["created"] == ["#3"]


def test_a_part_waits_for_a_task_outside(tools):
    tools.task("Epic")
    tools.task("Elsewhere")
    spec = {"subtasks": [{"title": "a", "depends_on": "#2"}]}
    tools("save_expansion_spec", task_id="#1", spec=spec)

    assert tools("get_expansion_spec", task_id="#1")["spec"]["subtasks"] == [
        {"title": "a", "priority": "normal", "depends_on": ["#2"]}
    ]
    tools("execute_expansion", task_id="#1")
    assert tools("get_task", task_id="#3")["depends_on"] == ["#2"]


def test_error_a_task_that_a_part_waits_for_has_gone(tools):
    test_spec = {"subtasks": [{"title": "a", "depends_on": "#2"}]}
    tools.task("Epic")
    tools.task("Elsewhere")
    tools("save_expansion_spec", task_id="#1", spec=test_spec)
    from bridge.tasks.tasks import Tasks

    Tasks(tools.store).delete("#2")

    with pytest.raises(BadSpec, match="there is no task #2"):
        tools("execute_expansion", task_id="#1")


def test_error_a_part_that_could_never_be_closed(tools):
    """What is above a task is closed after its parts."""
    tools.task("Above")
    tools.task("Epic", parent="#1")
    tools.task("After", depends_on=["#2"])
    refs = {"#1": r"closed only after #2: #1 → #2", "#2": "cannot wait for #2 as",
            "#3": "closed only after #2: #3 → #2"}  # fmt: skip

    for ref, says in refs.items():
        spec = {"subtasks": [{"title": "a", "depends_on": [ref]}]}
        with pytest.raises(BadSpec, match=says):
            tools("save_expansion_spec", task_id="#2", spec=spec)


def test_error_nothing_was_saved(tools):
    tools.task("Epic")

    assert tools("get_expansion_spec", task_id="#1") == {
        "task_id": "#1", "pending": False, "is_expanded": False,
    }  # fmt: skip
    with pytest.raises(NoSpec, match="task #1 has no expansion spec"):
        tools("execute_expansion", task_id="#1")


def test_error_a_closed_task_is_not_divided(tools):
    tools.task("Epic")
    tools("save_expansion_spec", task_id="#1", spec={"subtasks": ["a"]})
    tools("close_task", task_id="#1")

    with pytest.raises(TaskRefused, match="#1 is closed, and cannot be divided"):
        tools("execute_expansion", task_id="#1")
    with pytest.raises(TaskRefused, match="#1 is closed, and cannot be divided"):
        tools("save_expansion_spec", task_id="#1", spec={"subtasks": ["b"]})


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (None, "subtasks: expected a list of subtasks, got None"),
        ({}, "subtasks: expected a list of subtasks, got None"),
        ({"subtasks": []}, r"subtasks: expected a list of subtasks, got \[\]"),
        ({"subtasks": ["a"] * 2001}, "subtasks: 2,001; at most 2,000"),
        ({"subtasks": ["a"], "tasks": ["a"]}, "tasks: the same as subtasks"),
        ({"subtasks": ["a"], "x": 1}, "x: there is no such field; known: subtasks"),
        ({"subtasks": [3]}, r"subtasks\[0\]: expected an object, got 3"),
        ({"subtasks": [{}]}, r"subtasks\[0\].title: must be one line"),
        ({"subtasks": [{"title": 3}]}, r"subtasks\[0\].title: expected text, got 3"),
        ({"subtasks": [{"titel": "a"}]}, r"\[0\].titel: .* did you mean 'title'\?"),
        (
            {"subtasks": [{"title": "a", "validation": "", "validation_criteria": ""}]},
            r"\[0\].validation: the same as validation_criteria; give one",
        ),
        ({"subtasks": [{"title": "a", "priority": 9}]}, r"\[0\].priority 9: must be"),
        ({"subtasks": [{"title": "a", "id": [1]}]}, r"\[0\].id: expected text"),
        (
            {"subtasks": [{"title": "a", "id": "x"}, {"title": "b", "id": "x"}]},
            r"subtasks\[1\].id: 'x' is subtasks\[0\]'s",
        ),
        (
            {"subtasks": [{"title": "a", "depends_on": [4]}]},
            r"depends_on\[0\]: there is no subtask 4; expected a position from 0 to 0",
        ),
        (
            {"subtasks": [{"title": "a", "depends_on": ["9" * 5000]}]},
            "there is no subtask '999",
        ),
        (
            {"subtasks": [{"title": "a", "id": "pars"}, {"title": "b", "depends_on":
                "parse"}]},
            "did you mean 'pars'",
        ),
        (
            {"subtasks": [{"title": "a", "depends_on": [0]}]},
            r"subtasks\[0\].depends_on: a circle: 0 \(a\) → 0 \(a\)",
        ),
        (
            {"subtasks": [{"title": "a", "depends_on": [1]},
                          {"title": "b", "depends_on": [2]},
                          {"title": "c", "depends_on": [0]}]},
            r"a circle: 0 \(a\) → 1 \(b\) → 2 \(c\) → 0 \(a\)",
        ),
    ],
)  # fmt: skip
def test_error_a_spec_is_refused_with_its_place(tools, spec, says):
    tools.task("Epic")

    with pytest.raises(BadSpec, match=says):
        read(spec)
    assert tools("get_expansion_spec", task_id="#1")["pending"] is False


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(BadSpec) as refused:
        read({"subtasks": [{"title": n} for n in range(14)]})

    assert len(refused.value.problems) == 14
    assert "and 4 more" in str(refused.value)


def test_a_spec_is_known_however_it_is_written():
    one = read({"subtasks": [{"id": "x", "title": "a"}, {"title": "b", "depends_on":
        "x"}]})  # fmt: skip
    other = read({"tasks": ["a", {"title": "b", "depends_on": [0], "priority": 2}]})

    assert one.digest == other.digest
