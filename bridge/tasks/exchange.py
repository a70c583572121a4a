"""Export and import: JSON lines by uuid, which a team can commit and merge.

The newer of two versions of a task wins, by `updatedAt`, which grows with each change
of a task whatever the clocks say. A line that a hand has edited, which is seen by the
name of its version, is newer than what was edited. What was changed here since the last
exchange, and there too, is a conflict: it is named and left as it is here, unless one
side is preferred. All of an import is done, or nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import pairwise
from typing import Literal, NamedTuple

from bridge.errors import InvalidRequest
from bridge.protocol.wording import quoted, shortened
from bridge.tasks.circles import drawn, find_circle
from bridge.tasks.claims import let_go
from bridge.tasks.lifecycle import reopen
from bridge.tasks.records import Ref, number_of, set_columns
from bridge.tasks.task import Status
from bridge.tasks.task_record import (
    UUID_CHARS,
    Line,
    TaskRecord,
    all_records,
    in_form,
    row_of,
    time_of,
)
from bridge.tasks.validation_state import forget

Prefer = Literal["ours", "theirs"]
_NAMED = 5


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
        older: the tasks whose lines are older than what was exchanged since. They stay.
        left_out: what a file of others says beside, and how often.
    """

    added: int
    changed: int
    unchanged: int
    conflicts: tuple[Conflict, ...]
    changes: tuple[Change, ...]
    absent: tuple[int, ...]
    left_out: tuple[str, ...] = ()
    older: tuple[int, ...] = ()


def export(connection: sqlite3.Connection) -> list[bytes]:
    """Every task as a line of JSON, by uuid; that it was exported is kept."""
    lines = []
    for record in [*all_records(connection)]:
        exported = record.exported()
        lines.append(exported.to_line())
        connection.execute(
            "UPDATE tasks SET exchanged = ? WHERE uuid = ? AND exchanged <> ?",
            [exported.version, exported.uuid, exported.version],
        )
    return lines


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
        self.exchanged: dict[str, str] = dict(
            connection.execute("SELECT uuid, exchanged FROM tasks").fetchall()
        )
        self.taken: list[TaskRecord] = []
        self.conflicts: list[Conflict] = []
        self.changes: list[Change] = []
        self.older: list[int] = []
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
        is_export = any(line.versions for line in lines)
        absent = sorted(
            self.numbers[record.uuid]
            for record in self.ours.values()
            if is_export and self.exchanged[record.uuid] and record.uuid not in named
        )
        return Imported(
            self.added,
            len(self.changes),
            len(lines) - self.added - len(self.changes),
            tuple(self.conflicts),
            tuple(self.changes),
            tuple(absent),
            older=tuple(sorted(self.older)),
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
            # What it does not say is as it is here.
            data = ours.to_data() | line.data
            self._compare(ours, in_form(TaskRecord.model_validate(data)), line)

    def _add(self, record: TaskRecord) -> None:
        made_at = record.created_at or record.updated_at or self.now_ms
        changed_at = record.updated_at or made_at
        new = in_form(record.with_(created_at=made_at, updated_at=changed_at))
        self._write(new, new.now())
        self.added += 1

    def _compare(self, ours: TaskRecord, theirs: TaskRecord, line: Line) -> None:
        base = self.exchanged[ours.uuid]
        if ours.content() == theirs.content():
            # The same on both sides: so are its times from now on.
            later = max(ours, theirs, key=_times)
            if later != ours or base != ours.now():
                self._write(later, later.now())
            return
        number = self._number(ours.uuid)
        standing = _standing(ours.now(), base, theirs, line)
        if standing == "newer":
            # By hand, the time is that of what was edited: another one, everywhere the
            # same, or an edit that is taken back would be the version before it.
            by_hand = theirs.now() not in line.versions
            taken = theirs.with_(updated_at=theirs.updated_at + by_hand)
            self._change(ours, taken, taken.now())
        elif standing == "apart" and not self._is_decided(number):
            what = _difference(ours, theirs, "here", "there")
            what = f"changed on both sides: {what}"
            self.conflicts.append(Conflict(number, ours.title, what))
        elif standing == "apart" or (self.prefer == "theirs" and number in self.only):
            kept = ours if self.prefer == "ours" else theirs
            # Another version than both, or the other side could not tell.
            later_ms = max(self.now_ms, ours.updated_at + 1, theirs.updated_at + 1)
            self._change(ours, kept.with_(updated_at=later_ms), theirs.now())
        elif theirs.now() != base:
            self.older.append(number)

    def _is_decided(self, number: int) -> bool:
        return self.prefer is not None and (not self.only or number in self.only)

    def _change(self, ours: TaskRecord, to: TaskRecord, exchanged: str) -> None:
        self._write(to, exchanged)
        what = _difference(ours, to) or "kept as it is here"
        self.changes.append(Change(self._number(ours.uuid), to.title, what))

    def _write(self, record: TaskRecord, exchanged: str) -> None:
        """All of a task but its links; `exchanged` is what both sides have seen."""
        values = row_of(record) | {"exchanged": exchanged}
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
            names = ", ".join(shortened(uuid, UUID_CHARS) for uuid in missing[:_NAMED])
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


def _times(record: TaskRecord) -> tuple[int, int, int]:
    return record.updated_at, record.created_at, record.closed_at or 0


def _standing(
    here: str, base: str, theirs: TaskRecord, line: Line
) -> Literal["newer", "older", "apart"]:
    """How a line stands to a task that says something else.

    `here` is the version of the task, `base` the one that was exchanged last.
    """
    there = theirs.now()
    is_edit = not line.versions and time_of(there) == time_of(here)
    # Without a time, what was edited is what was exchanged, as far as is known.
    is_edit = is_edit and ("updatedAt" in line.data or here == (base or here))
    if is_edit or here in line.versions:
        # By hand; or an earlier hostbridge names all that came before.
        return "newer"
    is_export = not line.versions or there in line.versions
    if is_export and here == base and time_of(there) > time_of(here):
        return "newer"
    if is_export and base and (there == base or time_of(there) < time_of(base)):
        return "older"
    return "apart"


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
