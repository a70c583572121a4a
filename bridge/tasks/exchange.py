"""Export and import: JSON lines by uuid, which a team can commit and merge.

A version of a task is known by a digest of what it says, and each line names the
versions that the task has been through. So an import knows, without clocks and without
a common history, whether a line is older than what is here (nothing is done), newer (it
is taken), or was changed apart from it: a conflict, which is named and left as it is
here, unless one side is preferred. A line that was edited by hand is another version,
after the one that it names. All of an import is done, or nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from bridge.errors import InvalidRequest
from bridge.protocol import plain_json
from bridge.protocol.record import Unparsable, from_value, newer_named
from bridge.protocol.wording import quoted, shortened
from bridge.tasks.circles import drawn, find_circle
from bridge.tasks.claims import let_go
from bridge.tasks.fields import checked_text, checked_uuid
from bridge.tasks.foreign import find_foreign
from bridge.tasks.lifecycle import reopen
from bridge.tasks.records import Ref, number_of, set_columns
from bridge.tasks.task import Status
from bridge.tasks.task_record import (
    TaskRecord,
    all_records,
    history_of,
    made_uuid,
    row_of,
)
from bridge.tasks.validation_state import forget

Prefer = Literal["ours", "theirs"]
_TEXTS = ("title", "description", "category", "validation_criteria", "reason")
_NAMED = 5
_UUID_CHARS = 36
_MOST_LEFT = 20
_MAX_WHAT = 60
# Never written: a line without a title only changes a task that is here.
_NO_TITLE = "?"
# The last millisecond that a date can be written of.
_LATEST_MS = 253_402_300_799_999
# What lines of an earlier hostbridge have in place of `history`.
_EARLIER = "versions"


class Change(NamedTuple):
    """A task that an import changed, and what became of it, for people."""

    number: int
    title: str
    what: str


class Conflict(NamedTuple):
    """What an import could not decide, and left as it is here.

    Attributes:
        number: the task, `#42` here.
        what: what differs, or what was left out, for people.
    """

    number: int
    title: str
    what: str


class Imported(NamedTuple):
    """What became of an import.

    Attributes:
        added, changed, unchanged: how many tasks.
        conflicts: what it left for a person.
        changes: of each task that was here before and was changed.
        absent: the tasks that have been exchanged and are not in the export. They stay.
        left_out: what a file of others says beside, and how often.
    """

    added: int
    changed: int
    unchanged: int
    conflicts: tuple[Conflict, ...]
    changes: tuple[Change, ...]
    absent: tuple[int, ...]
    left_out: tuple[str, ...] = ()


class Line(NamedTuple):
    """A line of an export.

    Attributes:
        data: what it says; what it does not say stays as it is.
        record: the task, if it is new; with a stand-in for a title that is not there.
        is_made: it has no uuid, and got one by what it says.
        place: where it is, for messages.
    """

    data: dict[str, Any]
    record: TaskRecord
    is_made: bool
    place: str


def export(connection: sqlite3.Connection) -> list[bytes]:
    """Every task as a line of JSON, by uuid; that it was exported is kept."""
    lines = []
    for record in [*all_records(connection)]:
        exported = record.exported()
        if exported != record:
            connection.execute(
                "UPDATE tasks SET history = ? WHERE uuid = ?",
                [plain_json.dumps(exported.history).decode(), record.uuid],
            )
        lines.append(exported.to_line())
    return lines


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
    is_made = isinstance(task, dict)
    if isinstance(data, dict) and not is_made:
        data.pop(_EARLIER, None)
        if is_made := "uuid" not in data:
            data["uuid"] = made_uuid(data)
    is_part = isinstance(data, dict) and not is_made and "title" not in data
    record = from_value(TaskRecord, data | {"title": _NO_TITLE} if is_part else data)
    _check(record)
    return Line(data, _in_form(record), is_made, place)


def _in_form(record: TaskRecord) -> TaskRecord:
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
        way = " → ".join(shortened(uuids[n], _UUID_CHARS) for n in circle[: _NAMED + 1])
        rest = " → …" if len(circle) > _NAMED + 1 else ""
        raise InvalidRequest(
            f"{lines[uuids[circle[0]]].place}: tasks wait for each other: {way}{rest}; "
            "nothing was imported. Take one out of `dependsOn`, or change a `parent`"
        )


def merge(
    connection: sqlite3.Connection,
    lines: Iterable[Line],
    now_ms: int,
    prefer: Prefer | None = None,
    only: Iterable[Ref] = (),
) -> Imported:
    """Take over what is new or newer; `prefer` decides where both sides changed.

    Of several tasks it decides about these `only`, if any are named.
    """
    numbers = {number_of(connection, ref) for ref in only}
    return _Merge(connection, now_ms, prefer, numbers).of([*lines])


class _Merge:
    def __init__(
        self,
        connection: sqlite3.Connection,
        now_ms: int,
        prefer: Prefer | None,
        only: set[int],
    ) -> None:
        self.connection = connection
        self.now_ms = now_ms
        self.prefer = prefer
        self.only = only
        self.ours = {record.uuid: record for record in all_records(connection)}
        self.taken: list[TaskRecord] = []
        self.conflicts: list[Conflict] = []
        self.changes: list[Change] = []
        self.added = 0

    def of(self, lines: list[Line]) -> Imported:
        # In the order in which they were made, so that numbers follow it.
        for line in sorted(lines, key=self._made_at):
            self._take(line)
        self.numbers: dict[str, int] = dict(
            self.connection.execute("SELECT uuid, number FROM tasks").fetchall()
        )
        for record in self.taken:
            self._link(record)
        self._break_circles()
        self._open_again()
        named = {line.record.uuid for line in lines}
        is_export = any(line.record.history for line in lines)
        absent = sorted(
            self.numbers[record.uuid]
            for record in self.ours.values()
            if is_export and record.history and record.uuid not in named
        )
        return Imported(
            self.added,
            len(self.changes),
            len(lines) - self.added - len(self.changes),
            tuple(self.conflicts),
            tuple(self.changes),
            tuple(absent),
        )

    def _made_at(self, line: Line) -> int:
        return line.record.created_at if "createdAt" in line.data else self.now_ms

    def _take(self, line: Line) -> None:
        ours = self.ours.get(line.record.uuid)
        if ours is None:
            if "title" not in line.data:
                raise InvalidRequest(
                    f"{line.place}: title: field required, since no task here has "
                    "this uuid; nothing was imported"
                )
            self._add(line.record)
        elif not line.is_made:
            # What it does not say is as it is here, the history included.
            data = ours.to_data() | line.data
            theirs = _in_form(TaskRecord.model_validate(data))
            self._compare(ours, theirs, has_history="history" in line.data)

    def _add(self, record: TaskRecord) -> None:
        made_at = record.created_at or record.updated_at or self.now_ms
        changed_at = record.updated_at or made_at
        new = _in_form(record.with_(created_at=made_at, updated_at=changed_at))
        self._write(new, new.versions())
        self.added += 1

    def _compare(
        self, ours: TaskRecord, theirs: TaskRecord, *, has_history: bool
    ) -> None:
        known = ours.versions() | theirs.versions()
        if ours.content() == theirs.content():
            # The same on both sides: so are its times from now on.
            later = max(ours, theirs, key=_times)
            if (later, history_of(known)) != (ours, ours.history):
                self._write(later, known)
        elif theirs.version() in ours.versions():
            pass
        elif _is_newer(theirs, ours, has_history=has_history):
            # By hand, the time is that of what was edited: another one, everywhere the
            # same, or an edit that is taken back would be the version before it.
            by_hand = theirs.version() not in theirs.history
            changed_at = theirs.updated_at + by_hand
            self._change(ours, theirs.with_(updated_at=changed_at), known)
        elif not self._is_decided(number := self._number(ours.uuid)):
            what = _difference(ours, theirs, "here", "there")
            what = f"changed on both sides: {what}"
            self.conflicts.append(Conflict(number, ours.title, what))
        else:
            kept = ours if self.prefer == "ours" else theirs
            # Another version than both, or the other side could not tell.
            later_ms = max(self.now_ms, ours.updated_at + 1, theirs.updated_at + 1)
            self._change(ours, kept.with_(updated_at=later_ms), known)

    def _is_decided(self, number: int) -> bool:
        return self.prefer is not None and (not self.only or number in self.only)

    def _change(self, ours: TaskRecord, to: TaskRecord, known: Iterable[str]) -> None:
        self._write(to, known)
        what = _difference(ours, to) or "kept as it is here"
        self.changes.append(Change(self._number(ours.uuid), to.title, what))

    def _write(self, record: TaskRecord, versions: Iterable[str]) -> None:
        """All of a task but its links, with these versions in its history."""
        history = plain_json.dumps(history_of(versions)).decode()
        values = row_of(record) | {"history": history}
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        # No `ON CONFLICT`: it would use up a number.
        if record.uuid in self.ours:
            sql = f"UPDATE tasks SET ({names}) = ({marks}) WHERE uuid = ?"  # noqa: S608 - ours
        else:
            sql = f"INSERT INTO tasks ({names}, uuid) VALUES ({marks}, ?)"  # noqa: S608 - ours
        self.connection.execute(sql, [*values.values(), record.uuid])
        self._end_what_was(record)
        self.taken.append(record)

    def _end_what_was(self, record: TaskRecord) -> None:
        """End what counts no longer: a claim given up, an earlier validation."""
        ours = self.ours.get(record.uuid)
        number = self._number(record.uuid)
        is_held = record.status is Status.IN_PROGRESS
        if not is_held or (ours is not None and ours.assignee != record.assignee):
            let_go(self.connection, number)
        if ours is not None and ours.status is Status.CLOSED is not record.status:
            forget(self.connection, number, "the task was opened again")

    def _number(self, uuid: str) -> int:
        found: int = self.connection.execute(
            "SELECT number FROM tasks WHERE uuid = ?", [uuid]
        ).fetchone()[0]
        return found

    def _link(self, record: TaskRecord) -> None:
        """Its parent and dependencies, as far as they are here."""
        number = self.numbers[record.uuid]
        named = [*record.depends_on, *([record.parent] if record.parent else [])]
        if missing := [uuid for uuid in named if uuid not in self.numbers]:
            names = ", ".join(shortened(uuid, _UUID_CHARS) for uuid in missing[:_NAMED])
            more = len(missing) - _NAMED
            rest = f" and {more:,} more" if more > 0 else ""
            what = f"left out: it names {names}{rest}, which is not here"
            self._left_out(number, record.title, what)
        self.connection.execute(
            "UPDATE tasks SET parent = ? WHERE number = ?",
            [self.numbers.get(record.parent or ""), number],
        )
        self.connection.execute("DELETE FROM dependencies WHERE task = ?", [number])
        self.connection.executemany(
            "INSERT OR IGNORE INTO dependencies VALUES (?, ?)",
            [
                (number, self.numbers[uuid])
                for uuid in record.depends_on
                if uuid in self.numbers
            ],
        )

    def _break_circles(self) -> None:
        """Take imported links out of circles that no side had alone."""
        came = {self.numbers[record.uuid] for record in self.taken}
        after = {*self.connection.execute("SELECT task, depends_on FROM dependencies")}
        parts = self.connection.execute(
            "SELECT parent, number FROM tasks WHERE parent IS NOT NULL"
        )
        graph: dict[int, list[int]] = {}
        for task, other in sorted({*after, *parts}):
            graph.setdefault(task, []).append(other)
        while circle := find_circle(graph):
            task, other = next(
                (one, two)
                for one, two in pairwise(circle)
                if (one if (one, two) in after else two) in came
            )
            graph[task].remove(other)
            self._take_out(task, other, circle, is_part=(task, other) not in after)

    def _take_out(
        self, task: int, other: int, circle: tuple[int, ...], *, is_part: bool
    ) -> None:
        """Take one link out: that `task` waits for `other`."""
        if is_part:
            delete = "UPDATE tasks SET parent = NULL WHERE parent = ? AND number = ?"
            number, what = other, f"that it is part of #{task}"
        else:
            delete = "DELETE FROM dependencies WHERE task = ? AND depends_on = ?"
            number, what = task, f"that it depends on #{other}"
        self.connection.execute(delete, [task, other])
        (title,) = self.connection.execute(
            "SELECT title FROM tasks WHERE number = ?", [number]
        ).fetchone()
        self._left_out(
            number, title, f"left out {what}, which closes a circle: {drawn(circle)}"
        )

    def _open_again(self) -> None:
        """What was closed on one side and got another part on the other."""
        unfinished = self.connection.execute(
            "SELECT p.number, p.title, min(c.number) FROM tasks p "
            "JOIN tasks c ON c.parent = p.number "
            "WHERE p.status = 'closed' AND c.status <> 'closed' "
            "GROUP BY p.number ORDER BY p.number"
        ).fetchall()
        for number, title, part in unfinished:
            reopen(self.connection, number, self.now_ms)
            what = f"opened again: its part #{part} is not closed"
            self.conflicts.append(Conflict(number, title, what))

    def _left_out(self, number: int, title: str, what: str) -> None:
        # It is not what was exported there, from now on.
        set_columns(self.connection, number, self.now_ms, {})
        self.conflicts.append(Conflict(number, title, what))


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


def _times(record: TaskRecord) -> tuple[int, int, int]:
    return record.updated_at, record.created_at, record.closed_at or 0


def _is_newer(theirs: TaskRecord, ours: TaskRecord, *, has_history: bool) -> bool:
    """Whether a line is known to be of what is here, or of what came after it."""
    if has_history:
        return ours.version() in theirs.history
    # Written by hand, or by an earlier hostbridge.
    is_exchanged = ours.version() in ours.history
    by_hand = theirs.updated_at == ours.updated_at
    return by_hand or (is_exchanged and theirs.updated_at > ours.updated_at)


def _difference(
    ours: TaskRecord, theirs: TaskRecord, here: str = "", there: str = ""
) -> str:
    """What differs between two versions, for people."""
    one, two = ours.content(), theirs.content()
    keys = [key for key in {**one, **two} if one.get(key) != two.get(key)]
    if here:
        said = (f"{k} ({here} {quoted(one.get(k))}, {there} {quoted(two.get(k))})"
                for k in keys)  # fmt: skip
    else:
        said = (f"{k} {quoted(one.get(k))} → {quoted(two.get(k))}" for k in keys)
    return ", ".join(said)
