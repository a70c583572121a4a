"""The journal is told of tasks, once each, and of nothing that was not done."""

from contextlib import suppress

import pytest

from bridge.metrics.counts import TaskCell
from bridge.metrics.reader import read
from bridge.tasks import lifecycle
from bridge.tasks.task import NewTask, TaskRefused


def told(store) -> TaskCell:
    """What the journal says of tasks."""
    found = TaskCell("")
    for cell in read(store, since_ms=0).tasks:
        found.add(cell)
    return found


def test_each_verdict_is_told_once(tools):
    """Whoever looks first writes it down; a void verdict is no news."""
    tools.task("one", validation_criteria="it runs")
    for passed in (False, True):
        tools("validate_task", task_id="#1")
        tools.validators.answer(passed=passed, feedback=[])
        for _ in range(2):
            tools("get_validation_status", task_id="#1")
    tools("validate_task", task_id="#1")
    tools("update_task", task_id="#1", title="other")
    tools.validators.answer(passed=True, feedback=[])
    tools("get_validation_status", task_id="#1")

    assert told(tools.store) == TaskCell("", created=1, passed=1, failed=1)


def test_parts_of_a_divided_task_are_created(tools):
    tools.task("one")
    spec = {"subtasks": [{"title": "a"}, {"title": "b", "depends_on": [0]}]}
    tools("save_expansion_spec", task_id="#1", spec=spec)
    for _ in range(2):
        tools("execute_expansion", task_id="#1")

    assert told(tools.store).created == 3


def test_a_change_that_is_undone_is_not_told(tasks):
    """One transaction is done as a whole, or not at all."""
    tasks.create("one")
    tasks.create("part", parent=1)
    with suppress(RuntimeError), tasks.database.write() as connection:
        lifecycle.close(connection, 2, 1)
        raise RuntimeError
    with pytest.raises(TaskRefused):
        tasks.close(1)
    with pytest.raises(Exception, match="priority"):
        tasks.create_all([NewTask("two"), NewTask("three", priority="urgent")])

    assert told(tasks.store) == TaskCell("", created=2)
