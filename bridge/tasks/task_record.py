"""A task as one line of an export: known by its uuid, without what is only local."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from bridge.protocol import plain_json
from bridge.protocol.plain_types import Limits
from bridge.protocol.record import Milliseconds, Record, Unparsable
from bridge.tasks.task import RANKS, Priority, Status

# Far more than others lag behind; one that does all the same is asked about.
_MOST_VERSIONS = 50
# What says when a task was what it is, rather than what it is.
_BESIDE = frozenset(
    ("schemaVersion", "uuid", "createdAt", "updatedAt", "closedAt", "history")
)


class TaskRecord(Record):
    """One task. Times are in milliseconds since 1970.

    `parent` and `depends_on` are uuids. `history` names the versions that the task has
    been through: by that, an import knows which of two is newer. Numbers and claims are
    of one place, and are not in it.
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
    history: tuple[str, ...] = ()

    def to_line(self) -> bytes:
        """The line of an export, its keys always in the same order."""
        return plain_json.dumps(self.to_data()) + b"\n"

    def content(self) -> dict[str, Any]:
        """What two versions can differ in, as JSON has it."""
        return {k: v for k, v in self.to_data().items() if k not in _BESIDE}

    def version(self) -> str:
        """The name of this version; one that was edited by hand has another."""
        content = plain_json.dumps(dict(sorted(self.content().items())))
        digest = hashlib.sha256(content).hexdigest()
        # One that was never changed is the same, wherever and whenever it was added.
        changed_at = self.updated_at if self.updated_at != self.created_at else 0
        return f"{changed_at}-{digest[:12]}"

    def versions(self) -> set[str]:
        """All that it has been through, this one included."""
        return {*self.history, self.version()}

    def exported(self) -> TaskRecord:
        """The same, with this version in its history."""
        return self.with_(history=history_of(self.versions()))


def made_uuid(data: dict[str, Any]) -> str:
    """A uuid by what is said: the same for everybody, and whenever it is read.

    Raises:
        Unparsable: it cannot be written as JSON.
    """
    try:
        content = plain_json.dumps(dict(sorted(data.items())))
    except (RecursionError, plain_json.JSONEncodeError):
        raise Unparsable("nested too deeply") from None
    digits = hashlib.sha256(content).hexdigest()
    # Source: RFC 9562, "UUID Version 8".
    return (
        f"{digits[:8]}-{digits[8:12]}-8{digits[12:15]}-8{digits[15:18]}-{digits[18:30]}"
    )


def history_of(versions: Iterable[str]) -> tuple[str, ...]:
    """The latest of these versions, in the order of their times."""
    ordered = sorted(versions, key=lambda each: (len(each.partition("-")[0]), each))
    return tuple(ordered[-_MOST_VERSIONS:])


def all_records(connection: sqlite3.Connection) -> Iterator[TaskRecord]:
    """Every task, by uuid: so two exports of the same tasks are the same."""
    before: dict[int, list[str]] = {}
    for number, uuid in connection.execute(
        "SELECT d.task, b.uuid FROM dependencies d "
        "JOIN tasks b ON b.number = d.depends_on ORDER BY b.uuid"
    ):
        before.setdefault(number, []).append(uuid)
    for row in connection.execute(
        "SELECT t.number, t.uuid, t.title, t.description, t.status, t.priority, "
        "t.category, t.validation_criteria, p.uuid, t.assignee, t.reason, "
        "t.is_expanded, t.created_ms, t.updated_ms, t.closed_ms, t.history, t.more "
        "FROM tasks t LEFT JOIN tasks p ON p.number = t.parent ORDER BY t.uuid"
    ):
        yield _record(row, tuple(before.get(row[0], ())))


def _record(row: tuple[Any, ...], before: tuple[str, ...]) -> TaskRecord:
    (_, uuid, title, description, status, rank, category, criteria, parent, assignee,
     reason, is_expanded, created, updated, closed, history, more) = row  # fmt: skip
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
        history=tuple(plain_json.loads(history)),
    )
    if more == "{}":
        return known
    return TaskRecord.model_validate(plain_json.loads(more) | known.to_data())
