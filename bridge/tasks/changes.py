"""What of a task can be changed, what it waits for, and how it is removed.

What must be closed before what, and which task belongs to which, has no circles.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from bridge.errors import InvalidRequest
from bridge.hints import did_you_mean
from bridge.tasks.circles import TaskCircle, path, waits_for
from bridge.tasks.fields import CHANGEABLE
from bridge.tasks.queries import tree
from bridge.tasks.records import Ref, get, number_of, parent_of, set_columns
from bridge.tasks.task import Task, TaskRefused


def update(
    connection: sqlite3.Connection, ref: Ref, values: Mapping[str, Any], now_ms: int
) -> Task:
    """Change fields of a task, such as its title, priority or parent.

    Raises:
        InvalidRequest: a field cannot be changed, or not to this.
        TaskCircle: the parent is below the task.
        UnknownTask: the task or its parent is not there.
    """
    number = number_of(connection, ref)
    known = {*CHANGEABLE, "parent"}
    for name in values.keys() - known:
        near = did_you_mean(name, known)
        raise InvalidRequest(
            f"a task's {name!r} cannot be changed{near or '; what can: '}"
            + ("" if near else ", ".join(sorted(known)))
        )
    checked = {n: CHANGEABLE[n](v) for n, v in values.items() if n != "parent"}
    if checked:
        set_columns(connection, number, now_ms, checked)
    if "parent" in values:
        move_under(connection, number, values["parent"], now_ms)
    return get(connection, number)


def delete(
    connection: sqlite3.Connection, ref: Ref, *, with_children: bool = False
) -> list[Task]:
    """Remove a task for good; what was removed. Its number is never used again.

    Raises:
        TaskRefused: it has children, or others depend on it.
    """
    gone = [branch.task for branch in tree(connection, ref)]
    task = gone[0]
    if len(gone) > 1 and not with_children:
        raise TaskRefused(
            f"task {task.ref} has {len(gone) - 1} below it",
            ways=(f"hostbridge task delete {task.number} --with-children",),
        )
    numbers = {each.number for each in gone}
    waiting = sorted(
        row[0]
        for number in numbers
        for row in connection.execute(
            "SELECT task FROM dependencies WHERE depends_on = ?", [number]
        )
        if row[0] not in numbers
    )
    if waiting:
        named = ", ".join(f"#{number}" for number in waiting[:10])
        wait = "waits" if len(waiting) == 1 else "wait"
        raise TaskRefused(
            f"task {task.ref} cannot be deleted: {named} {wait} for it or its children",
            ways=("close it instead", "hostbridge task depend TASK --not-on TASK"),
        )
    for each in gone:
        connection.execute("DELETE FROM dependencies WHERE task = ?", [each.number])
    for each in reversed(gone):
        connection.execute("DELETE FROM tasks WHERE number = ?", [each.number])
    return gone


def depend(connection: sqlite3.Connection, ref: Ref, on: Ref, now_ms: int) -> Task:
    """Have a task wait until another is closed; again is no error.

    Raises:
        TaskCircle: that one waits for this one, by whatever way.
        UnknownTask: one of them is not there.
    """
    task, before = number_of(connection, ref), number_of(connection, on)
    if found := path(before, task, lambda each: waits_for(connection, each)):
        raise TaskCircle(
            (task, *found), what="a task cannot depend on one that waits for it"
        )
    made = connection.execute(
        "INSERT OR IGNORE INTO dependencies VALUES (?, ?)", [task, before]
    )
    if made.rowcount:
        set_columns(connection, task, now_ms, {})
    return get(connection, task)


def depend_no_more(
    connection: sqlite3.Connection, ref: Ref, on: Ref, now_ms: int
) -> Task:
    """Take such a dependency away; if there is none, this does nothing."""
    task, before = number_of(connection, ref), number_of(connection, on)
    gone = connection.execute(
        "DELETE FROM dependencies WHERE task = ? AND depends_on = ?", [task, before]
    )
    if gone.rowcount:
        set_columns(connection, task, now_ms, {})
    return get(connection, task)


def move_under(
    connection: sqlite3.Connection, ref: Ref, parent: Ref | None, now_ms: int
) -> None:
    """Make a task part of another, or of none.

    Raises:
        TaskCircle: this one waits for that one, or has it as a part.
        UnknownTask: one of them is not there.
    """
    task = number_of(connection, ref)
    above = parent_of(connection, parent)
    if above is not None and (
        found := path(task, above, lambda each: waits_for(connection, each))
    ):
        what = "a task cannot be a part of one that it waits for"
        raise TaskCircle((above, *found), what=what)
    set_columns(connection, task, now_ms, {"parent": above})
