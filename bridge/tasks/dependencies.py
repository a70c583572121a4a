"""What must be closed before what, and which task belongs to which: without circles."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Mapping

from bridge.errors import InvalidRequest
from bridge.tasks.records import Ref, get, number_of, set_columns
from bridge.tasks.task import Task


class Circle(InvalidRequest):
    """A task would have to wait for itself, or be part of itself; nothing was done.

    Attributes:
        numbers: the tasks in the circle, the first again at its end.
    """

    code = "task_circle"

    def __init__(self, numbers: tuple[int, ...], *, what: str) -> None:
        drawn = " → ".join(f"#{number}" for number in numbers)
        super().__init__(f"{what}: {drawn}")
        self.numbers = numbers


def depend(connection: sqlite3.Connection, ref: Ref, on: Ref, now_ms: int) -> Task:
    """Have a task wait until another is closed; again is no error.

    Raises:
        Circle: that one waits for this one, by whatever way.
        UnknownTask: one of them is not there.
    """
    task, before = number_of(connection, ref), number_of(connection, on)
    if found := path(before, task, lambda each: _before(connection, each)):
        raise Circle(
            (task, *found), what="a task cannot depend on one that depends on it"
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
        Circle: that one is part of this one.
        UnknownTask: one of them is not there.
    """
    task = number_of(connection, ref)
    above = None if parent is None else number_of(connection, parent)
    if above is not None:
        found = path(above, task, lambda each: _above(connection, each))
        if found:
            raise Circle((task, *found), what="a task cannot be a part of its own part")
    set_columns(connection, task, now_ms, {"parent": above})


def path(
    start: int, end: int, following: Callable[[int], Iterable[int]]
) -> tuple[int, ...]:
    """The shortest way from one to the other, both included; empty if there is none."""
    came_from: dict[int, int | None] = {start: None}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        if here == end:
            way: list[int] = []
            at: int | None = here
            while at is not None:
                way.append(at)
                at = came_from[at]
            return tuple(reversed(way))
        for each in following(here):
            if each not in came_from:
                came_from[each] = here
                waiting.append(each)
    return ()


def _before(connection: sqlite3.Connection, number: int) -> list[int]:
    rows = connection.execute(
        "SELECT depends_on FROM dependencies WHERE task = ? ORDER BY 1", [number]
    )
    return [row[0] for row in rows]


def _above(connection: sqlite3.Connection, number: int) -> list[int]:
    rows = connection.execute("SELECT parent FROM tasks WHERE number = ?", [number])
    return [row[0] for row in rows if row[0] is not None]


def find_circle(following: Mapping[int, Iterable[int]]) -> tuple[int, ...]:
    """A circle in a graph, its first number again at its end; empty for none."""
    done: set[int] = set()
    for start in following:
        on_way: dict[int, None] = {}
        waiting = [(start, iter(following.get(start, ())))] if start not in done else []
        on_way.update(dict.fromkeys(here for here, _ in waiting))
        while waiting:
            here, left = waiting[-1]
            each = next(left, None)
            if each is None:
                done.add(here)
                del on_way[here]
                waiting.pop()
            elif each in on_way:
                way = [*on_way]
                return (*way[way.index(each) :], each)
            elif each not in done:
                on_way[each] = None
                waiting.append((each, iter(following.get(each, ()))))
    return ()
