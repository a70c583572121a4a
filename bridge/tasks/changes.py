"""What of a task can be changed, and how it is removed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from bridge.errors import InvalidRequest
from bridge.hints import did_you_mean
from bridge.protocol.wording import quoted
from bridge.tasks.dependencies import move_under
from bridge.tasks.queries import tree
from bridge.tasks.records import Ref, checked_text, get, number_of, rank_of, set_columns
from bridge.tasks.task import Task, TaskRefused


def _text(name: str) -> Callable[[object], str]:
    return lambda value: checked_text(name, value)


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidRequest(f"is_expanded: must be true or false, got {quoted(value)}")
    return value


# How the value of each is checked; `parent` is apart.
_FIELDS: dict[str, Callable[[Any], Any]] = {
    "title": _text("title"),
    "description": _text("description"),
    "priority": rank_of,
    "category": _text("category"),
    "validation_criteria": _text("validation_criteria"),
    "is_expanded": _truth,
}


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
    known = {*_FIELDS, "parent"}
    for name in values.keys() - known:
        near = did_you_mean(name, known)
        raise InvalidRequest(
            f"a task's {name!r} cannot be changed{near or '; what can: '}"
            + ("" if near else ", ".join(sorted(known)))
        )
    checked = {n: _FIELDS[n](value) for n, value in values.items() if n != "parent"}
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
