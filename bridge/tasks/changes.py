"""What of a task can be changed, and how it is removed."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from bridge.agents.diagnostic import did_you_mean
from bridge.errors import InvalidRequest
from bridge.tasks.dependencies import move_under
from bridge.tasks.fields import CHANGEABLE
from bridge.tasks.queries import tree
from bridge.tasks.records import Ref, get, number_of, set_columns
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
