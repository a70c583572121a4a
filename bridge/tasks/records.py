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
from bridge.tasks.database import tell
from bridge.tasks.fields import CONTENT, checked_uuid, is_uuid
from bridge.tasks.task import RANKS, NewTask, Status, Task, UnknownTask

Ref = str | int
NO_TASK = "none"

# What a row does not have itself.
_COUNTED = {
    "depends_on": "(SELECT group_concat(d.depends_on) FROM dependencies d "
    "WHERE d.task = t.number)",
    "children": "(SELECT count(*) FROM tasks c WHERE c.parent = t.number)",
    "closed_children": "(SELECT count(*) FROM tasks c WHERE c.parent = t.number "
    "AND c.status = 'closed')",
}
_COLUMNS = ", ".join(_COUNTED.get(name, f"t.{name}") for name in Task._fields)
_STATUSES = {status.value: status for status in Status}
_LAST = "SELECT seq FROM sqlite_sequence WHERE name = 'tasks'"
_NEW = ("number", "uuid", *CONTENT, "parent", "created_ms", "updated_ms")
_INSERT = f"INSERT INTO tasks ({', '.join(_NEW)}) VALUES ({', '.join('?' * len(_NEW))})"  # noqa: S608 - ours
_NUMBER = re.compile(r"#?([0-9]{1,15})\Z")
# More digits than a number of a task has; Python writes no longer integers.
_TOO_LARGE = 10**15


def task_of(row: Iterable[Any]) -> Task:
    """The task of a row, whose columns are named as its fields."""
    task = Task(*row)
    before: Any = task.depends_on
    return task._replace(
        status=_STATUSES[task.status],
        priority=RANKS[int(task.priority) - 1],
        is_expanded=bool(task.is_expanded or task.children),
        depends_on=tuple(sorted(map(int, before.split(",")))) if before else (),
    )


def select(
    connection: sqlite3.Connection, clauses: str, values: Iterable[Any] = ()
) -> list[Task]:
    """The tasks `t` that match the end of a SELECT."""
    found = connection.execute(f"SELECT {_COLUMNS} FROM tasks t {clauses}", [*values])  # noqa: S608 - clauses are ours
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
    elif not is_uuid(text):
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


def parent_of(connection: sqlite3.Connection, ref: Ref | None) -> int | None:
    """The number of a parent; None for `none`, which is how a task has no parent."""
    return None if ref in (None, NO_TASK) else number_of(connection, ref)


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
    parent = parent_of(connection, new.parent)
    before = [number_of(connection, ref) for ref in new.depends_on]
    if parent is not None and before:
        _refuse_waiting_parent(connection, parent, before)
    number = next_number(connection)
    insert_all(connection, number, [(new, before)], parent, now_ms)
    return number


def insert_all(
    connection: sqlite3.Connection,
    first: int,
    new: Sequence[tuple[NewTask, Iterable[int]]],
    parent: int | None,
    now_ms: int,
) -> None:
    """Add tasks by consecutive numbers, each with those that it depends on."""
    numbered = [*enumerate(new, first)]
    connection.executemany(
        _INSERT,
        [
            (
                number,
                checked_uuid(task.uuid) if task.uuid else new_uuid(now_ms, nth=number),
                *(check(getattr(task, name)) for name, check in CONTENT.items()),
                *(parent, now_ms, now_ms),
            )
            for number, (task, _) in numbered
        ],
    )
    connection.executemany(
        "INSERT OR IGNORE INTO dependencies VALUES (?, ?)",
        [(number, each) for number, (_, before) in numbered for each in before],
    )
    for number, _ in numbered:
        tell(connection, "created", number)


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


def new_uuid(now_ms: int, nth: int = 0) -> str:
    """A new uuid, of version 7: they sort by creation, of one millisecond by `nth`.

    Source: RFC 9562, "UUID Version 7" and 6.2, "Fixed Bit-Length Dedicated Counter".
    """
    value = (now_ms & (1 << 48) - 1) << 80 | 7 << 76 | (nth & 0xFFF) << 64
    value |= 2 << 62 | int.from_bytes(os.urandom(8)) >> 2
    digits = f"{value:032x}"
    ends = (0, 8, 12, 16, 20, 32)
    return "-".join(digits[a:b] for a, b in pairwise(ends))
