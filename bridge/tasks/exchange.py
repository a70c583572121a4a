"""Export and import: JSON lines by uuid, which a team can commit and merge.

Each task carries a version vector: how often it was changed in which place. So an
import knows, without a common history, whether a line is older than what is here
(nothing is done), newer (it is taken), or was changed apart from it: a conflict, which
is named and left as it is here, unless one side is preferred. All of an import is done,
or nothing.

Source: Parker et al., "Detection of Mutual Inconsistency in Distributed Systems", 1983.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Literal, NamedTuple

from bridge.errors import InvalidRequest
from bridge.protocol import plain_json
from bridge.protocol.record import Unparsable, parse
from bridge.protocol.wording import quoted, shortened
from bridge.tasks.circles import drawn, find_circle
from bridge.tasks.claims import let_go
from bridge.tasks.lifecycle import reopen
from bridge.tasks.records import checked_text, checked_uuid, rank_of, set_columns
from bridge.tasks.task import Status
from bridge.tasks.task_record import CONTENT, TaskRecord, all_records, place_of
from bridge.tasks.validation_state import forget

Prefer = Literal["ours", "theirs"]
_TEXTS = ("title", "description", "category", "validation_criteria", "reason")
_NAMED = 5
_UUID_CHARS = 36
# The last millisecond that a date can be written of.
_LATEST_MS = 253_402_300_799_999
# Far more than there are, and far below what can be counted on from.
_MOST_CHANGES = 1_000_000_000


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
    """What became of an import: how many tasks, and what it left for a person."""

    added: int
    changed: int
    unchanged: int
    conflicts: tuple[Conflict, ...]


def export(connection: sqlite3.Connection) -> list[bytes]:
    """Every task as a line of JSON, by uuid."""
    return [record.to_line() for record in all_records(connection)]


def read_lines(lines: Iterable[bytes], name: str) -> list[TaskRecord]:
    """The tasks of an export; `name` is what it is called in messages.

    Raises:
        InvalidRequest: a line is no task, or two are of the same.
        NewerSchema: a newer hostbridge wrote it.
    """
    found: dict[str, TaskRecord] = {}
    for at, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = parse(TaskRecord, line)
            _check(record)
        except (Unparsable, InvalidRequest) as exc:
            raise InvalidRequest(f"{name}:{at}: {exc}; nothing was imported") from None
        if record.uuid in found:
            raise InvalidRequest(
                f"{name}:{at}: a second line of task {record.uuid}; nothing was "
                "imported. Keep the one that is right"
            )
        found[record.uuid] = record
    return [*found.values()]


def merge(
    connection: sqlite3.Connection,
    records: Iterable[TaskRecord],
    now_ms: int,
    prefer: Prefer | None = None,
) -> Imported:
    """Take over what is new or newer; `prefer` decides where both sides changed."""
    return _Merge(connection, now_ms, prefer).of(records)


class _Merge:
    def __init__(
        self, connection: sqlite3.Connection, now_ms: int, prefer: Prefer | None
    ) -> None:
        self.connection = connection
        self.now_ms = now_ms
        self.prefer = prefer
        self.here = place_of(connection)
        self.ours = {record.uuid: record for record in all_records(connection)}
        self.taken: list[TaskRecord] = []
        self.conflicts: list[Conflict] = []
        self.counts = {"added": 0, "changed": 0, "unchanged": 0}

    def of(self, records: Iterable[TaskRecord]) -> Imported:
        # In the order in which they were made, so that numbers follow it.
        for record in sorted(records, key=lambda each: (each.created_at, each.uuid)):
            self._take(record)
        self.numbers: dict[str, int] = dict(
            self.connection.execute("SELECT uuid, number FROM tasks").fetchall()
        )
        for record in self.taken:
            self._link(record)
        self._break_circles()
        self._open_again()
        return Imported(**self.counts, conflicts=tuple(self.conflicts))

    def _take(self, theirs: TaskRecord) -> None:
        ours = self.ours.get(theirs.uuid)
        if ours is None:
            self._write(theirs, theirs.versions)
            self.counts["added"] += 1
        elif _is_within(theirs.versions, ours.versions) and theirs.versions:
            self.counts["unchanged"] += 1
        elif _is_within(ours.versions, theirs.versions):
            self._write(theirs, theirs.versions)
            self.counts["changed"] += 1
        else:
            self._decide(ours, theirs)

    def _decide(self, ours: TaskRecord, theirs: TaskRecord) -> None:
        """Of one that was changed on both sides."""
        both = _joined(ours.versions, theirs.versions)
        differ = [n for n in CONTENT if getattr(ours, n) != getattr(theirs, n)]
        if not differ:
            self._write(ours, both)
            self.counts["unchanged"] += 1
        elif self.prefer is None:
            self.counts["unchanged"] += 1
            number = self._number(ours.uuid)
            what = f"changed on both sides: {', '.join(differ)}"
            self.conflicts.append(Conflict(number, ours.title, what))
        else:
            kept = ours if self.prefer == "ours" else theirs
            both[self.here] = both.get(self.here, 0) + 1
            self._write(kept, both)
            self.counts["changed"] += 1

    def _write(self, record: TaskRecord, versions: Mapping[str, int]) -> None:
        """All of a task but its links, with these versions."""
        seen = {place: n for place, n in versions.items() if place != self.here}
        values = {
            **{name: getattr(record, name) for name in _TEXTS},
            "status": record.status,
            "priority": rank_of(record.priority),
            "assignee": record.assignee,
            "is_expanded": record.is_expanded,
            "created_ms": record.created_at,
            "updated_ms": record.updated_at,
            "closed_ms": record.closed_at,
            "revision": versions.get(self.here, 0),
            "seen": plain_json.dumps(seen).decode(),
            "more": plain_json.dumps(_unknown(record)).decode(),
        }
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
    for place, changes in record.versions.items():
        if changes > _MOST_CHANGES:
            raise InvalidRequest(
                f"versions.{shortened(place, _UUID_CHARS)}: {changes:,}; at most "
                f"{_MOST_CHANGES:,}"
            )
    for name in _TEXTS:
        checked_text(name, getattr(record, name))
    if record.assignee is not None:
        checked_text("assignee", record.assignee)


def _is_within(some: Mapping[str, int], others: Mapping[str, int]) -> bool:
    """Whether all that one version has seen, the other has seen, too."""
    return all(others.get(place, 0) >= n for place, n in some.items())


def _joined(some: Mapping[str, int], others: Mapping[str, int]) -> dict[str, int]:
    return {
        place: max(some.get(place, 0), others.get(place, 0))
        for place in {*some, *others}
    }


def _unknown(record: TaskRecord) -> dict[str, object]:
    """The keys that this hostbridge does not know."""
    known = {each.json_name for each in TaskRecord.fields.values()}
    return {key: v for key, v in record.to_data().items() if key not in known}
