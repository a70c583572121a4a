"""What must be closed before what, and which task belongs to which: without circles."""

from __future__ import annotations

import sqlite3

from bridge.tasks.circles import TaskCircle, path, waits_for
from bridge.tasks.records import Ref, get, number_of, set_columns
from bridge.tasks.task import Task


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
    above = None if parent is None else number_of(connection, parent)
    if above is not None and (
        found := path(task, above, lambda each: waits_for(connection, each))
    ):
        what = "a task cannot be a part of one that it waits for"
        raise TaskCircle((above, *found), what=what)
    set_columns(connection, task, now_ms, {"parent": above})
