"""Tasks as they are in the database: looked up, listed, added. One transaction's part.

Every function here, and in the modules beside it, takes the connection of a transaction
that its caller holds (`Database.read`, `Database.write`): several of them are one
change.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from bridge.errors import InvalidRequest
from bridge.protocol.wording import quoted
from bridge.tasks.circles import TaskCircle, path, waited_for_by
from bridge.tasks.news import tell
from bridge.tasks.task import RANKS, NewTask, Priority, Status, Task, UnknownTask

Ref = str | int

COLUMNS = """
    t.number, t.uuid, t.title, t.description, t.status, t.priority, t.category,
    t.validation_criteria, t.parent, t.assignee, t.reason, t.is_expanded,
    t.created_ms, t.updated_ms, t.closed_ms,
    (SELECT group_concat(d.depends_on) FROM dependencies d WHERE d.task = t.number),
    (SELECT count(*) FROM tasks c WHERE c.parent = t.number),
    (SELECT count(*) FROM tasks c WHERE c.parent = t.number AND c.status = 'closed')
"""
_LAST = "SELECT seq FROM sqlite_sequence WHERE name = 'tasks'"
# Without a number it gets the next one.
NEW_ROW = (
    "INSERT INTO tasks (number, uuid, title, description, priority, category, "
    "validation_criteria, parent, created_ms, updated_ms) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_STATUSES = {status.value: status for status in Status}
_NUMBER = re.compile(r"#?([0-9]{1,15})\Z")
# More digits than a number of a task has; Python writes no longer integers.
_TOO_LARGE = 10**15
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
_LIMITS = {
    "title": 500, "description": 1_000_000, "category": 100,
    "validation_criteria": 100_000, "reason": 100_000, "assignee": 200, "text": 10_000,
}  # fmt: skip


def task_of(row: Sequence[Any]) -> Task:
    """The task of a row of `COLUMNS`."""
    (number, uuid, title, description, status, rank, category, criteria, parent,
     assignee, reason, is_expanded, created, updated, closed, before, children,
     done) = row  # fmt: skip
    depends_on = tuple(sorted(map(int, before.split(",")))) if before else ()
    return Task(
        number, uuid, title, description, _STATUSES[status], RANKS[rank - 1], category,
        criteria, parent, assignee, reason, bool(is_expanded or children), created,
        updated, closed, depends_on, children, done,
    )  # fmt: skip


def select(
    connection: sqlite3.Connection, clauses: str, values: Iterable[Any] = ()
) -> list[Task]:
    """The tasks `t` that match the end of a SELECT."""
    found = connection.execute(f"SELECT {COLUMNS} FROM tasks t {clauses}", [*values])  # noqa: S608 - clauses are ours
    return [*map(task_of, found)]


def number_of(connection: sqlite3.Connection, ref: Ref) -> int:
    """The number of the task that is called `#42`, `42`, 42 or by its uuid.

    Raises:
        UnknownTask: there is none.
        InvalidRequest: nothing can be called that.
    """
    if isinstance(ref, bool) or not isinstance(ref, str | int):
        raise InvalidRequest(f"task {quoted(ref)}: expected a number such as #42")
    if isinstance(ref, int) and ref >= _TOO_LARGE:
        raise UnknownTask("of so large a number")
    text = str(ref).strip().lower()
    column, value = "uuid", text
    if match := _NUMBER.match(text):
        column, value = "number", match[1].lstrip("0") or "0"
    elif not _UUID.match(text):
        raise InvalidRequest(
            f"task {quoted(ref)}: expected a number such as #42, or a uuid"
        )
    row = connection.execute(
        f"SELECT number FROM tasks WHERE {column} = ?",  # noqa: S608 - one of two
        [value],
    ).fetchone()
    if row is None:
        raise UnknownTask(f"#{value}" if column == "number" else value)
    number: int = row[0]
    return number


def get(connection: sqlite3.Connection, ref: Ref) -> Task:
    """One task; raises as `number_of`."""
    (task,) = select(connection, "WHERE t.number = ?", [number_of(connection, ref)])
    return task


def insert(connection: sqlite3.Connection, new: NewTask, now_ms: int) -> int:
    """Add a task whose parent and dependencies are there; its number.

    Raises:
        TaskCircle: it depends on its parent, or on one that waits for that.
        InvalidRequest: a field is not what it must be.
        UnknownTask: the parent, or one that it depends on, is not there.
    """
    parent = None if new.parent is None else number_of(connection, new.parent)
    before = [number_of(connection, ref) for ref in new.depends_on]
    if parent is not None and before:
        _refuse_waiting_parent(connection, parent, before)
    uuid = checked_uuid(new.uuid) if new.uuid else None
    if uuid is None:
        uuid = new_uuid(now_ms, nth=next_number(connection))
    made = connection.execute(
        NEW_ROW,
        [
            None,
            uuid,
            checked_text("title", new.title),
            checked_text("description", new.description),
            rank_of(new.priority),
            checked_text("category", new.category),
            checked_text("validation_criteria", new.validation_criteria),
            parent,
            now_ms,
            now_ms,
        ],
    )
    number = made.lastrowid or 0
    connection.executemany(
        "INSERT OR IGNORE INTO dependencies VALUES (?, ?)",
        [(number, each) for each in before],
    )
    tell(connection, "created", number)
    return number


def _refuse_waiting_parent(
    connection: sqlite3.Connection, parent: int, before: list[int]
) -> None:
    """A part cannot wait for what is closed only after the part."""
    # From the parent up: what waits for it is little, what it waits for may be much.
    for each in before:
        above = path(parent, each, lambda n: waited_for_by(connection, n))
        if above:
            new = next_number(connection)
            what = "a task cannot depend on one that waits for it"
            raise TaskCircle((new, *reversed(above), new), what=what)


def next_number(connection: sqlite3.Connection) -> int:
    """The number of the next task: none is ever used again."""
    last = connection.execute(_LAST).fetchone()
    return last[0] + 1 if last else 1


def set_columns(
    connection: sqlite3.Connection, number: int, now_ms: int, values: Mapping[str, Any]
) -> None:
    """Set columns of a task to checked values, later than all before: see `version`."""
    named = "".join(f", {name} = ?" for name in values)
    connection.execute(
        f"UPDATE tasks SET updated_ms = max(?, updated_ms + 1){named} WHERE number = ?",  # noqa: S608 - ours
        [now_ms, *values.values(), number],
    )


def checked_text(name: str, value: object) -> str:
    """A text that a column can hold.

    Raises:
        InvalidRequest: it is no text, too long, or cannot be written as UTF-8.
    """
    if not isinstance(value, str):
        raise InvalidRequest(f"{name}: expected text, got {quoted(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(f"{name}: {quoted(value)} is not UTF-8") from None
    if len(value) > _LIMITS[name]:
        raise InvalidRequest(
            f"{name}: {len(value):,} characters; at most {_LIMITS[name]:,}"
        )
    if name == "title":
        value = value.strip()
        if not value or len(value.splitlines()) > 1:
            raise InvalidRequest(
                f"title: must be one line of text, got {quoted(value)}; more goes into "
                "the description"
            )
    return value


def rank_of(priority: object) -> int:
    """The rank of a priority: `high`, `normal`, `low`, or 1, 2, 3.

    Raises:
        InvalidRequest: it is something else.
    """
    ranks = {each.value: each.rank for each in Priority}
    ranks |= {str(each.rank): each.rank for each in Priority}
    if isinstance(priority, bool) or str(priority) not in ranks:
        raise InvalidRequest(
            f"priority {quoted(priority)}: must be high, normal or low (or 1, 2, 3)"
        )
    return ranks[str(priority)]


def checked_uuid(text: object) -> str:
    """A uuid in its usual form; raises `InvalidRequest` for anything else."""
    if isinstance(text, str) and _UUID.match(text.lower()):
        return text.lower()
    raise InvalidRequest(
        f"uuid {quoted(text)}: expected digits 8-4-4-4-12, as in an export"
    )


def new_uuid(now_ms: int, nth: int = 0) -> str:
    """A new uuid, of version 7: they sort by creation, of one millisecond by `nth`.

    Source: RFC 9562, "UUID Version 7" and 6.2, "Fixed Bit-Length Dedicated Counter".
    """
    value = (now_ms & (1 << 48) - 1) << 80 | 7 << 76 | (nth & 0xFFF) << 64
    value |= 2 << 62 | int.from_bytes(os.urandom(8)) >> 2
    digits = f"{value:032x}"
    ends = (0, 8, 12, 16, 20, 32)
    return "-".join(digits[a:b] for a, b in pairwise(ends))
