"""A task as one line of an export, written and read.

It is known by its uuid, and says nothing of what is only local.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, NamedTuple

from bridge.errors import InvalidRequest
from bridge.protocol import plain_json
from bridge.protocol.plain_types import Limits
from bridge.protocol.record import (
    Milliseconds,
    Record,
    Unparsable,
    from_value,
    newer_named,
)
from bridge.protocol.wording import quoted, shortened
from bridge.tasks.circles import find_circle
from bridge.tasks.fields import checked_text, checked_uuid
from bridge.tasks.foreign import find_foreign, made_uuid
from bridge.tasks.task import RANKS, Priority, Status

UUID_CHARS = 36
_TEXTS = ("title", "description", "category", "validation_criteria", "reason")
_NAMED = 5
_MOST_LEFT = 20
_MAX_WHAT = 60
# Never written: a line without a title only changes a task that is here.
_NO_TITLE = "?"
# The last millisecond that a date can be written of.
_LATEST_MS = 253_402_300_799_999
# What lines of an earlier hostbridge have in place of `version`: a list of names, and
# before that counts, which say nothing here.
_HISTORY, _COUNTS = "history", "versions"
# What says when a task was what it is, rather than what it is.
_BESIDE = frozenset(
    ("schemaVersion", "uuid", "createdAt", "updatedAt", "closedAt", "version")
)


class TaskRecord(Record):
    """One task. Times are in milliseconds since 1970.

    `parent` and `depends_on` are uuids. `version` names what was exported: an import
    sees by that whether a hand has edited the line. Numbers and claims are of one
    place, and are not in it.
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
    version: str = ""

    def to_line(self) -> bytes:
        """The line of an export, its keys always in the same order."""
        return plain_json.dumps(self.to_data()) + b"\n"

    def content(self) -> dict[str, Any]:
        """What two versions can differ in, as JSON has it."""
        return {k: v for k, v in self.to_data().items() if k not in _BESIDE}

    def now(self) -> str:
        """The name of what it says now: its time, and a digest."""
        content = plain_json.dumps(dict(sorted(self.content().items())))
        digest = hashlib.sha256(content).hexdigest()
        # One that was never changed is the same, wherever and whenever it was added.
        changed_at = self.updated_at if self.updated_at != self.created_at else 0
        return f"{changed_at}-{digest[:12]}"

    def exported(self) -> TaskRecord:
        """The same, with the name of its version."""
        return self.with_(version=self.now())


def time_of(version: str) -> int:
    """When a version began to be; 0 for one that was never changed."""
    time = version.partition("-")[0]
    return int(time) if time.isdecimal() else 0


# What a line does not have by that name in the row of its task.
_NAMES = {"created_at": "created_ms", "updated_at": "updated_ms"}
_NAMES |= {"closed_at": "closed_ms"}
_KNOWN = frozenset(each.json_name for each in TaskRecord.fields.values())
# The columns of a task by the names of a line; its links are apart.
_LINKS = ("parent", "depends_on")
_COLUMNS = {
    name: _NAMES.get(name, name)
    for name in TaskRecord.fields
    if name not in ("schema_version", "version", *_LINKS)
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
    """The columns of a task, as a line has them; its links are apart."""
    row = {column: getattr(record, name) for name, column in _COLUMNS.items()}
    unknown = {key: v for key, v in record.to_data().items() if key not in _KNOWN}
    return row | {
        "priority": record.priority.rank,
        "more": plain_json.dumps(unknown).decode(),
    }


class Line(NamedTuple):
    """A line of an export.

    Attributes:
        data: what it says; what it does not say stays as it is.
        record: the task, if it is new; with a stand-in for a title that is not there.
        versions: the names of what was exported; none, if it was written by hand.
        is_made: it has no uuid, and got one by what it says.
        place: where it is, for messages.
    """

    data: dict[str, Any]
    record: TaskRecord
    versions: tuple[str, ...]
    is_made: bool
    place: str


def read(data: bytes, name: str) -> tuple[list[Line], tuple[str, ...]]:
    """The tasks of an export, or of a file of others, and what was left out of that.

    `name` is what it is called in messages.

    Raises:
        InvalidRequest: a line is no task, two are of the same, or tasks wait for each
            other in a circle.
        NewerSchema: a newer hostbridge wrote it.
    """
    foreign = find_foreign(data, name)
    if foreign is None:
        lines = enumerate(data.splitlines(), 1)
        return _lines((f"{name}:{at}", text) for at, text in lines if text.strip()), ()
    left_out = foreign.left_out.most_common(_MOST_LEFT)
    more = len(foreign.left_out) - len(left_out)
    said = [f"{shortened(what, _MAX_WHAT)} ({n:,})" for what, n in left_out]
    return _lines(foreign.tasks), (*said, *([f"and {more:,} more"] if more else []))


def _lines(given: Iterable[tuple[str, bytes | dict[str, Any]]]) -> list[Line]:
    found: dict[str, Line] = {}
    for place, task in given:
        try:
            with newer_named(place):
                line = _read(task, place)
        except (Unparsable, InvalidRequest) as exc:
            raise InvalidRequest(f"{place}: {exc}; nothing was imported") from None
        uuid = line.record.uuid
        if uuid in found:
            raise InvalidRequest(
                f"{place}: a second line of task {uuid}, as "
                f"{found[uuid].place}; nothing was imported. Keep the one that is right"
            )
        found[uuid] = line
    _refuse_circle(found)
    return [*found.values()]


def _read(task: bytes | dict[str, Any], place: str) -> Line:
    """The line of a task: one of an export, or what others say of one."""
    try:
        data = plain_json.loads(task) if isinstance(task, bytes) else task
    except plain_json.JSONDecodeError as exc:
        raise Unparsable(f"not JSON: {exc}") from None
    is_made, history = isinstance(task, dict), None
    if isinstance(data, dict) and not is_made:
        data.pop(_COUNTS, None)
        history = data.pop(_HISTORY, None)
        if is_made := "uuid" not in data:
            data["uuid"] = made_uuid(data)
    is_part = isinstance(data, dict) and not is_made and "title" not in data
    record = from_value(TaskRecord, data | {"title": _NO_TITLE} if is_part else data)
    _check(record)
    named = [record.version, *(history if isinstance(history, list) else ())]
    versions = tuple(each for each in named if each and isinstance(each, str))
    return Line(data, in_form(record), versions, is_made, place)


def in_form(record: TaskRecord) -> TaskRecord:
    """As an export has it, whatever a hand has left out or put in another order."""
    closed_at = record.closed_at or record.updated_at
    return record.with_(
        title=record.title.strip(),
        depends_on=tuple(sorted({*record.depends_on})),
        closed_at=closed_at if record.status is Status.CLOSED else None,
    )


def _refuse_circle(lines: dict[str, Line]) -> None:
    """Refuse what no side can have had: tasks of one export in a circle."""
    numbers = {uuid: number for number, uuid in enumerate(lines)}
    graph: dict[int, list[int]] = {}
    for uuid, line in lines.items():
        ours = [numbers[each] for each in line.record.depends_on if each in numbers]
        graph.setdefault(numbers[uuid], []).extend(ours)
        if line.record.parent in numbers:
            graph.setdefault(numbers[line.record.parent], []).append(numbers[uuid])
    if circle := find_circle(graph):
        uuids = [*lines]
        way = " → ".join(shortened(uuids[n], UUID_CHARS) for n in circle[: _NAMED + 1])
        rest = " → …" if len(circle) > _NAMED + 1 else ""
        raise InvalidRequest(
            f"{lines[uuids[circle[0]]].place}: tasks wait for each other: {way}{rest}; "
            "nothing was imported. Take one out of `dependsOn`, or change a `parent`"
        )


def _check(record: TaskRecord) -> None:
    if checked_uuid(record.uuid) != record.uuid:
        raise InvalidRequest(f"uuid {quoted(record.uuid)}: expected small letters")
    for name in ("created_at", "updated_at", "closed_at"):
        if (getattr(record, name) or 0) > _LATEST_MS:
            raise InvalidRequest(f"{name}: later than the year 9999")
    for name in _TEXTS:
        checked_text(name, getattr(record, name))
    if record.assignee is not None:
        checked_text("assignee", record.assignee)
