"""Which tasks there are, in what order, and which can be begun."""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

from bridge.errors import InvalidRequest
from bridge.protocol.wording import quoted
from bridge.tasks.fields import checked_text, rank_of
from bridge.tasks.records import NO_TASK, Ref, number_of, select
from bridge.tasks.task import Status, Task

_BELOW = (
    "t.number IN (WITH RECURSIVE below (number) AS (SELECT number FROM tasks "
    "WHERE parent = ? UNION SELECT c.number FROM tasks c JOIN below ON "
    "c.parent = below.number) SELECT number FROM below)"
)
READY = (
    "t.status = 'open' AND NOT EXISTS (SELECT 1 FROM dependencies d JOIN tasks b "
    "ON b.number = d.depends_on WHERE d.task = t.number AND b.status <> 'closed') "
    "AND NOT EXISTS (SELECT 1 FROM tasks c WHERE c.parent = t.number "
    "AND c.status <> 'closed')"
)
# As many rows as SQLite can count.
_MOST = 2**63 - 1
_ORDER = " ORDER BY t.priority, t.number LIMIT ?"


class Filter(NamedTuple):
    """Which tasks: those that fit all that is given.

    Attributes:
        status: of one of these.
        parent: right below this one; `#42`, or `none` for those without a parent.
        under: anywhere below this one.
        text: these words are in the title or the description, whatever their case.
        limit: as many at most.
    """

    status: tuple[str, ...] = ()
    parent: Ref | None = None
    under: Ref | None = None
    category: str | None = None
    assignee: str | None = None
    priority: str | int | None = None
    text: str | None = None
    limit: int | None = None


class Branch(NamedTuple):
    """A task, and how deep it is below the root that was asked for (0)."""

    depth: int
    task: Task


def listed(connection: sqlite3.Connection, which: Filter) -> list[Task]:
    """The tasks that fit, by number.

    Raises:
        InvalidRequest: what is asked for means nothing.
        UnknownTask: the parent is not there.
    """
    clauses, values = _clauses(connection, which)
    where = f"WHERE {' AND '.join(clauses)} " if clauses else ""
    return select(
        connection, f"{where}ORDER BY t.number LIMIT ?", [*values, _limit(which.limit)]
    )


def ready(connection: sqlite3.Connection, which: Filter = Filter()) -> list[Task]:  # noqa: B008 - frozen
    """What can be begun: open, nothing before or below it that is not closed.

    The most urgent first, then the lowest number. A task that somebody holds is in
    progress, not open.
    """
    clauses, values = _clauses(connection, which)
    where = " AND ".join([READY, *clauses])
    return select(connection, f"WHERE {where}{_ORDER}", [*values, _limit(which.limit)])


def counted(connection: sqlite3.Connection) -> dict[str, int]:
    """How many tasks there are of each status."""
    found = connection.execute("SELECT status, count(*) FROM tasks GROUP BY status")
    return {status.value: 0 for status in Status} | dict(found.fetchall())


def tree(connection: sqlite3.Connection, root: Ref | None = None) -> list[Branch]:
    """A task and all below it, each after its parent; without `root`, all tasks."""
    if root is None:
        found = select(connection, "ORDER BY t.number")
        tops = [task for task in found if task.parent is None]
    else:
        number = number_of(connection, root)
        found = select(
            connection,
            f"WHERE t.number = ? OR {_BELOW} ORDER BY t.number",
            [number] * 2,
        )
        tops = [task for task in found if task.number == number]
    below: dict[int | None, list[Task]] = {}
    roots = {task.number for task in tops}
    for task in found:
        if task.number not in roots:
            below.setdefault(task.parent, []).append(task)
    branches: list[Branch] = []
    waiting = [Branch(0, task) for task in reversed(tops)]
    while waiting:
        branch = waiting.pop()
        branches.append(branch)
        # Taken out: a file that somebody has edited may have a circle.
        children = reversed(below.pop(branch.task.number, []))
        waiting += [Branch(branch.depth + 1, child) for child in children]
    return branches


def _clauses(
    connection: sqlite3.Connection, which: Filter
) -> tuple[list[str], list[Any]]:
    found: list[tuple[str, list[Any]]] = []
    if which.status:
        marks = ", ".join("?" * len(which.status))
        found.append((f"t.status IN ({marks})", [*map(checked_status, which.status)]))
    if which.parent == NO_TASK:
        found.append(("t.parent IS NULL", []))
    elif which.parent is not None:
        found.append(("t.parent = ?", [number_of(connection, which.parent)]))
    if which.under is not None:
        found.append((_BELOW, [number_of(connection, which.under)]))
    if which.priority is not None:
        found.append(("t.priority = ?", [rank_of(which.priority)]))
    exact = {"category": which.category, "assignee": which.assignee}
    found += [
        (f"t.{n} = ?", [checked_text(n, v)]) for n, v in exact.items() if v is not None
    ]
    if which.text is not None:
        text = checked_text("text", which.text)
        like = "".join(f"\\{c}" if c in "%_\\" else c for c in text)
        found.append((
            r"(t.title LIKE ? ESCAPE '\' OR t.description LIKE ? ESCAPE '\')",
            [f"%{like}%"] * 2,
        ))  # fmt: skip
    return [clause for clause, _ in found], [v for _, each in found for v in each]


def checked_status(status: object) -> Status:
    """A status by its name; raises `InvalidRequest` for another word."""
    names = [each.value for each in Status]
    if status not in names:
        raise InvalidRequest(
            f"status {quoted(status)}: must be one of {', '.join(names)}"
        )
    return Status(str(status))


def _limit(limit: int | None) -> int:
    if limit is None:
        # SQLite's word for it.
        return -1
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise InvalidRequest(f"limit: expected a number, got {quoted(limit)}")
    return min(max(0, limit), _MOST)
