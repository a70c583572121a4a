"""Divide a task: a spec is saved, then made into tasks, all of them in one transaction.

What was saved outlives whoever saved it: the next one, after a kill or a compaction,
executes the same spec. A task is divided once: the same spec again changes nothing, and
another one is refused.
"""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

from bridge.protocol.plain_json import dumps, loads
from bridge.tasks import expansion_spec
from bridge.tasks.circles import drawn, path, waits_for
from bridge.tasks.expansion_spec import BadSpec, Spec
from bridge.tasks.records import Ref, get, insert_all, next_number, set_columns
from bridge.tasks.task import Status, Task, TaskRefused
from bridge.tasks.task_data import refs_of

_NAMED = 5


class AlreadyExpanded(TaskRefused):
    """The task was divided by another spec; nothing was done."""

    code = "task_expanded"


class NoSpec(TaskRefused):
    """Nothing was saved that the task could be divided by."""

    code = "no_expansion_spec"


class Expansion(NamedTuple):
    """A saved spec, and the numbers of the tasks that it became; none: not yet."""

    task: Task
    spec: Spec
    created: tuple[int, ...]

    @property
    def is_pending(self) -> bool:
        """Whether it still has to be executed."""
        return not self.created


def save(
    connection: sqlite3.Connection, ref: Ref, value: object, now_ms: int
) -> Expansion:
    """Keep how a task is to be divided; a spec that was not executed is replaced.

    Raises:
        BadSpec: it cannot be used.
        AlreadyExpanded: the task was divided by another spec.
        TaskRefused: it is closed.
    """
    task = _unclosed(get(connection, ref))
    spec = expansion_spec.read(
        value, check_outside=lambda number: _why_not(connection, task, number)
    )
    before = find(connection, task)
    if before is not None and not before.is_pending:
        if before.spec.digest == spec.digest:
            return before
        raise _another(before)
    connection.execute(
        "INSERT OR REPLACE INTO expansions (task, digest, spec, saved_ms) "
        "VALUES (?, ?, ?, ?)",
        [task.number, spec.digest, spec.text, now_ms],
    )
    return Expansion(task, spec, ())


def find(connection: sqlite3.Connection, task: Task) -> Expansion | None:
    """What was saved for a task.

    One whose tasks were all deleted has not been executed.
    """
    row = connection.execute(
        "SELECT spec, created FROM expansions WHERE task = ?", [task.number]
    ).fetchone()
    if row is None:
        return None
    numbers = loads(row[1])
    marks = ", ".join("?" * len(numbers))
    there = connection.execute(
        f"SELECT count(*) FROM tasks WHERE number IN ({marks})",  # noqa: S608 - only marks
        numbers,
    ).fetchone()[0]
    spec = expansion_spec.restored(row[0])
    return Expansion(task, spec, tuple(numbers) if there else ())


def execute(
    connection: sqlite3.Connection, ref: Ref, now_ms: int
) -> tuple[Expansion, bool]:
    """Make the saved spec into tasks below their task; whether that was done before.

    Raises:
        NoSpec: nothing was saved.
        BadSpec: a task that it waits for is not there any more.
        TaskRefused: the task is closed.
    """
    task = get(connection, ref)
    found = find(connection, task)
    if found is None:
        raise NoSpec(
            f"task {task.ref} has no expansion spec",
            ways=("save one first: the tool save_expansion_spec",),
        )
    if not found.is_pending:
        return found, True
    _unclosed(task)
    # What it waits for outside may have changed since it was saved.
    outside = {each for one in found.spec.subtasks for each in one.outside}
    problems = [_why_not(connection, task, each) for each in sorted(outside)]
    if any(problems):
        raise BadSpec([*filter(None, problems)])
    first = next_number(connection)
    new = [
        (each.new, (*(first + one for one in each.inside), *each.outside))
        for each in found.spec.subtasks
    ]
    insert_all(connection, first, new, task.number, now_ms)
    created = [*range(first, first + len(new))]
    set_columns(connection, task.number, now_ms, {"is_expanded": 1})
    connection.execute(
        "UPDATE expansions SET executed_ms = ?, created = ? WHERE task = ?",
        [now_ms, dumps(created).decode(), task.number],
    )
    return found._replace(task=get(connection, ref), created=tuple(created)), False


def data_of(expansion: Expansion) -> dict[str, Any]:
    """What `get_expansion_spec` returns."""
    return {
        "task_id": expansion.task.ref,
        "pending": expansion.is_pending,
        "is_expanded": expansion.task.is_expanded,
        "spec": expansion.spec.data,
        "subtask_count": len(expansion.spec.subtasks),
        "created": refs_of(expansion.created),
    }


def _unclosed(task: Task) -> Task:
    if task.status is Status.CLOSED:
        raise TaskRefused(
            f"task {task.ref} is closed, and cannot be divided",
            ways=(f"hostbridge task reopen {task.number}",),
        )
    return task


def _why_not(connection: sqlite3.Connection, task: Task, number: int) -> str:
    """Why a part of a task cannot wait for another task; empty if it can."""
    row = connection.execute("SELECT 1 FROM tasks WHERE number = ?", [number])
    if row.fetchone() is None:
        return f"there is no task #{number}"
    if way := path(number, task.number, lambda each: waits_for(connection, each)):
        if number == task.number:
            return f"a part of {task.ref} cannot wait for {task.ref} as a whole"
        return f"#{number} is closed only after {task.ref}: {drawn(way)}"
    return ""


def _another(before: Expansion) -> AlreadyExpanded:
    named = ", ".join(refs_of(before.created[:_NAMED]))
    more = len(before.created) - _NAMED
    rest = f" and {more} more" if more > 0 else ""
    return AlreadyExpanded(
        f"task {before.task.ref} was divided by another spec, into {named}{rest}",
        ways=(
            "add to them: the tool create_task, with this task as `parent`",
            "delete them to divide it again: hostbridge task delete TASK",
        ),
    )
