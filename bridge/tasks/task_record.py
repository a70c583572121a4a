"""A task as one line of an export: known by its uuid, without what is only local."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Annotated, Any

from bridge.protocol import plain_json
from bridge.protocol.plain_types import Limits, field
from bridge.protocol.record import Count, Milliseconds, Record
from bridge.tasks.task import RANKS, Priority, Status


class TaskRecord(Record):
    """One task. Times are in milliseconds since 1970.

    `parent` and `depends_on` are uuids. `versions` says how often it was changed, by
    the id of the place where that was: by that, an import knows which of two is newer.
    Numbers and claims are of one place, and are not in it.
    """

    uuid: str
    title: Annotated[str, Limits(min_length=1)]
    description: str = ""
    status: Status = Status.OPEN
    priority: Priority = Priority.NORMAL
    category: str = ""
    validation_criteria: str = ""
    parent: str | None = None
    depends_on: tuple[str, ...] = ()
    assignee: str | None = None
    reason: str = ""
    is_expanded: bool = False
    created_at: Milliseconds = 0
    updated_at: Milliseconds = 0
    closed_at: Milliseconds | None = None
    versions: dict[str, Count] = field(default_factory=dict)

    def to_line(self) -> bytes:
        """The line of an export, its keys always in the same order."""
        return plain_json.dumps(self.to_data()) + b"\n"


# What two versions of a task can differ in, for people.
CONTENT = (
    "title", "description", "status", "priority", "category", "validation_criteria",
    "parent", "depends_on", "assignee", "reason", "is_expanded",
)  # fmt: skip


def place_of(connection: sqlite3.Connection) -> str:
    """By what this database is known in exports."""
    found: str = connection.execute("SELECT id FROM place").fetchone()[0]
    return found


def all_records(connection: sqlite3.Connection) -> Iterator[TaskRecord]:
    """Every task, by uuid: so two exports of the same tasks are the same."""
    here = place_of(connection)
    before: dict[int, list[str]] = {}
    for number, uuid in connection.execute(
        "SELECT d.task, b.uuid FROM dependencies d "
        "JOIN tasks b ON b.number = d.depends_on ORDER BY b.uuid"
    ):
        before.setdefault(number, []).append(uuid)
    for row in connection.execute(
        "SELECT t.number, t.uuid, t.title, t.description, t.status, t.priority, "
        "t.category, t.validation_criteria, p.uuid, t.assignee, t.reason, "
        "t.is_expanded, t.created_ms, t.updated_ms, t.closed_ms, t.revision, t.seen, "
        "t.more FROM tasks t LEFT JOIN tasks p ON p.number = t.parent ORDER BY t.uuid"
    ):
        yield _record(row, tuple(before.get(row[0], ())), here)


def _record(row: tuple[Any, ...], before: tuple[str, ...], here: str) -> TaskRecord:
    (_, uuid, title, description, status, rank, category, criteria, parent, assignee,
     reason, is_expanded, created, updated, closed, revision, seen,
     more) = row  # fmt: skip
    versions = {**plain_json.loads(seen), **({here: revision} if revision else {})}
    known = TaskRecord(
        uuid=uuid,
        title=title,
        description=description,
        status=Status(status),
        priority=RANKS[rank - 1],
        category=category,
        validation_criteria=criteria,
        parent=parent,
        depends_on=before,
        assignee=assignee,
        reason=reason,
        is_expanded=bool(is_expanded),
        created_at=created,
        updated_at=updated,
        closed_at=closed,
        versions=dict(sorted(versions.items())),
    )
    if more == "{}":
        return known
    return TaskRecord.model_validate(plain_json.loads(more) | known.to_data())
