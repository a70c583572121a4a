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


# What a line does not have by that name in the row of its task.
_NAMES = {"created_at": "created_ms", "updated_at": "updated_ms"}
_NAMES |= {"closed_at": "closed_ms"}
_KNOWN = frozenset(each.json_name for each in TaskRecord.fields.values())
# The columns of a task by the names of a line; its links are apart.
_LINKS = ("parent", "depends_on")
_COLUMNS = {
    name: _NAMES.get(name, name)
    for name in TaskRecord.fields
    if name not in ("schema_version", *_LINKS)
}


def all_records(connection: sqlite3.Connection) -> Iterator[TaskRecord]:
    """Every task, by uuid: so two exports of the same tasks are the same."""
    before: dict[int, list[str]] = {}
    for number, uuid in connection.execute(
        "SELECT d.task, b.uuid FROM dependencies d "
        "JOIN tasks b ON b.number = d.depends_on ORDER BY b.uuid"
    ):
        before.setdefault(number, []).append(uuid)
    columns = ", ".join(f"t.{name}" for name in _COLUMNS.values())
    for number, more, parent, *row in connection.execute(
        f"SELECT t.number, t.more, p.uuid, {columns} FROM tasks t "  # noqa: S608 - ours
        "LEFT JOIN tasks p ON p.number = t.parent ORDER BY t.uuid"
    ):
        values = dict(zip(_COLUMNS, row, strict=True))
        values |= {
            "status": Status(values["status"]),
            "priority": RANKS[values["priority"] - 1],
            "is_expanded": bool(values["is_expanded"]),
            "history": tuple(plain_json.loads(values["history"])),
            "parent": parent,
            "depends_on": tuple(before.get(number, ())),
        }
        known = TaskRecord(**values)
        if more == "{}":
            yield known
        else:
            unknown = plain_json.loads(more)
            yield TaskRecord.model_validate(unknown | known.to_data())


def row_of(record: TaskRecord) -> dict[str, Any]:
    """The columns of a task, as a line has them; its links and history are apart."""
    row = {column: getattr(record, name) for name, column in _COLUMNS.items()}
    unknown = {key: v for key, v in record.to_data().items() if key not in _KNOWN}
    return row | {
        "priority": record.priority.rank,
        "more": plain_json.dumps(unknown).decode(),
    }
