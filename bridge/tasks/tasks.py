"""The tasks of a project: every verb, each one transaction.

    tasks = Bridge.open().tasks
    task = tasks.create("Add a limit to uploads", priority="high")
    tasks.claim(task.ref)
    tasks.close(task.ref)

A task is named by `#42`, `42`, 42 or its uuid. Threads may share this.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, Unpack

from bridge.errors import StateUnavailable
from bridge.operation import Says
from bridge.store.host_process import identify
from bridge.tasks import changes, claims, lifecycle, queries, records
from bridge.tasks.database import Database
from bridge.tasks.queries import Branch, Filter
from bridge.tasks.records import Ref
from bridge.tasks.task import (
    FilterOptions,
    Holder,
    NewTask,
    Task,
    TaskFields,
    TaskOptions,
)
from bridge.tasks.validation_state import settle

if TYPE_CHECKING:
    from bridge.store.store import Store
    from bridge.tasks.exchange import Imported, Prefer


_PROGRAM = "a program"
Called: TypeAlias = Annotated[
    str | int, Says("A task: #42, 42, or its uuid.", name="task_id")
]
# In the class below, `list` is one of its verbs.
Found: TypeAlias = list[Task]
Branches: TypeAlias = list[Branch]


class Tasks:
    """The tasks of one project.

    Any method raises `TasksBusy` if another program holds the file for too long,
    `TasksDamaged` or `NewerSchema` if it cannot be used, and `StateUnavailable` if the
    disk cannot.

    Args:
        store: of the project.
        holder: who claims, unless a claim says otherwise; by default this process.
        database: within a transaction, that one's.
    """

    def __init__(
        self,
        store: Store,
        holder: Holder | None = None,
        database: Database | None = None,
    ) -> None:
        self.store = store
        self.database = database or Database(store)
        self._holder = holder

    @property
    def holder(self) -> Holder:
        """Who claims here."""
        if self._holder is not None:
            return self._holder
        try:
            return Holder(_PROGRAM, identify(os.getpid()))
        except OSError as exc:
            raise StateUnavailable(
                f"{self.database.path}: {os.strerror(exc.errno or 0)}; nothing was "
                "changed"
            ) from exc

    @property
    def who(self) -> str:
        """Who acts here, for people."""
        return self._holder.assignee if self._holder else _PROGRAM

    # Looking

    def get(self, ref: Called) -> Task:
        """One task: how far it is, and what it asks for.

        Raises:
            UnknownTask: there is none of this name.
        """
        with self.database.read() as connection:
            return records.get(connection, ref)

    def list(self, **which: Unpack[FilterOptions]) -> Found:
        """The tasks that fit, by number; `Filter` explains what can be given."""
        with self.database.read() as connection:
            return queries.listed(connection, filter_of(which))

    def tree(self, root: Ref | None = None) -> Branches:
        """A task and all below it, each after its parent; or all tasks."""
        with self.database.read() as connection:
            return queries.tree(connection, root)

    def ready(self, **which: Unpack[FilterOptions]) -> Found:
        """What can be begun, the most urgent first.

        Open, all that it depends on closed, no child that is not. What somebody held
        who is gone is taken back first.
        """
        wanted = filter_of(which)
        with self.database.read() as connection:
            if not claims.abandoned(connection, self.store):
                return queries.ready(connection, wanted)
        with self.database.write() as connection:
            claims.take_back(connection, self.store)
            return queries.ready(connection, wanted)

    def counts(self) -> dict[str, int]:
        """How many there are of each status."""
        with self.database.read() as connection:
            return queries.counted(connection)

    def holder_of(self, ref: Ref) -> Holder | None:
        """Who holds a task; None for nobody."""
        with self.database.read() as connection:
            number = records.number_of(connection, ref)
            return claims.find_holder(connection, number)

    # Changing

    def create(self, title: str, **more: Unpack[TaskOptions]) -> Task:
        """Add a task; `NewTask` explains what can be given."""
        return self.create_all([new_task(title, more)])[0]

    def create_all(self, new: Iterable[NewTask]) -> Found:
        """Add tasks, all or none of them; one may name the uuid of an earlier one."""
        # Made before anything is locked: a generator may take its time.
        wanted, now_ms = [*new], self.store.now_ms()
        with self.database.write() as connection:
            numbers = [records.insert(connection, each, now_ms) for each in wanted]
            return [records.get(connection, number) for number in numbers]

    def update(self, ref: Ref, **values: Unpack[TaskFields]) -> Task:
        """Change fields of a task, such as its title, priority or parent."""
        with self.database.write() as connection:
            return changes.update(connection, ref, values, self.store.now_ms())

    def delete(
        self,
        ref: Called,
        *,
        with_children: Annotated[bool, Says("And all below it.")] = False,
    ) -> Found:
        """Remove a task for good.

        Returns what was removed.

        Raises:
            TaskRefused: it has children, or others depend on it.
        """
        with self.database.write() as connection:
            return changes.delete(connection, ref, with_children=with_children)

    def depend(self, ref: Ref, on: Ref) -> Task:
        """Have a task wait until another is closed.

        Raises:
            TaskCircle: that one waits for this one.
        """
        with self.database.write() as connection:
            return changes.depend(connection, ref, on, self.store.now_ms())

    def depend_no_more(self, ref: Ref, on: Ref) -> Task:
        """Take such a dependency away."""
        now_ms = self.store.now_ms()
        with self.database.write() as connection:
            return changes.depend_no_more(connection, ref, on, now_ms)

    # Its life

    def claim(self, ref: Called, holder: Holder | None = None) -> Task:
        """Take a task: nobody else gets it until you release or close it, or are gone.

        Raises:
            TaskClaimed: somebody else holds it, and is still there.
            TaskRefused: it is closed or escalated.
        """
        with self.database.write() as connection:
            return claims.claim(connection, self.store, ref, holder or self.holder)

    def claim_next(
        self, holder: Holder | None = None, **which: Unpack[FilterOptions]
    ) -> Task | None:
        """Take the first ready task; None if there is none."""
        wanted = filter_of(which)._replace(limit=1)
        with self.database.write() as connection:
            claims.take_back(connection, self.store)
            for task in queries.ready(connection, wanted):
                holder = holder or self.holder
                return claims.claim(connection, self.store, task.number, holder)
        return None

    def release(
        self,
        ref: Called,
        holder: Holder | None = None,
        *,
        force: Annotated[bool, Says("Also if another holds it.")] = False,
    ) -> Task:
        """Let a task go: it is open again.

        Raises:
            TaskClaimed: somebody else holds it, is still there, and it is not forced.
        """
        holder = holder or self.holder
        with self.database.write() as connection:
            return claims.release(connection, self.store, ref, holder, force=force)

    def review(
        self,
        ref: Called,
        *,
        note: Annotated[str, Says("What to look at.", option="--reason TEXT")] = "",
    ) -> Task:
        """Say that a task is done, and needs a look.

        It is let go, unless a run has it.
        """
        now_ms, holder = self.store.now_ms(), self._holder
        with self.database.write() as connection:
            return lifecycle.review(connection, ref, now_ms, note=note, holder=holder)

    def escalate(
        self,
        ref: Called,
        *,
        reason: Annotated[str, Says("What the person has to know.")],
    ) -> Task:
        """Hand a task to a person."""
        now_ms = self.store.now_ms()
        with self.database.write() as connection:
            return lifecycle.escalate(connection, ref, now_ms, reason=reason)

    def close(
        self,
        ref: Called,
        *,
        reason: Annotated[
            str,
            Says("What was done, or why by force.", also=("changes_summary",)),
        ] = "",
        force: Annotated[
            bool,
            Says(
                "Close it without a validation that passed. Needs a reason, which is "
                "kept, with who did it."
            ),
        ] = False,
    ) -> Task:
        """Close a task that is done; with validation criteria it must have passed.

        `validate_task` has it looked at. To close it again is no error.

        Raises:
            TaskRefused: a child is not closed, or it has validation criteria and did
                not pass, and it is not forced.
        """
        now_ms, who = self.store.now_ms(), self.who
        with self.database.write() as connection:
            # The verdict may be there, and nobody has looked.
            settle(connection, self.store, records.get(connection, ref))
            return lifecycle.close(
                connection, ref, now_ms, reason=reason, force=force, who=who
            )

    def reopen(self, ref: Called) -> Task:
        """Open a closed or escalated task again; it has to be validated anew."""
        with self.database.write() as connection:
            return lifecycle.reopen(connection, ref, self.store.now_ms())

    # Elsewhere

    def export(self) -> bytes:
        """Every task as a line of JSON, by uuid: what `import_` takes."""
        from bridge.tasks import exchange

        if not self.database.exists():
            return b""
        with self.database.write() as connection:
            return b"".join(exchange.export(connection))

    def import_(
        self,
        lines: bytes,
        *,
        name: str = "import",
        prefer: Prefer | None = None,
        only: Iterable[Ref] = (),
    ) -> Imported:
        """Take over what is new or newer in an export; all of it or nothing.

        A line that was edited by hand is newer than what it was. What was changed on
        both sides stays as it is here, and is named, unless `prefer` says `ours` or
        `theirs`; that decides about all such tasks, or these `only`. A task without a
        line stays, and so does one whose line is older, unless `only` names it. `name`
        is what messages call the export. Tasks of others (beads, GitHub's issues, CSV,
        check lists) are added once, and never changed.

        Raises:
            InvalidRequest: a line is no task, or tasks wait for each other.
            UnknownTask: one of `only` is not here.
            NewerSchema: a newer hostbridge wrote it.
        """
        from bridge.tasks import exchange, task_record

        read, left_out = task_record.read(lines, name)
        now_ms = self.store.now_ms()
        with self.database.write() as connection:
            done = exchange.merge(connection, read, now_ms, prefer, only)
            return done._replace(left_out=left_out)


def new_task(title: str, more: TaskOptions) -> NewTask:
    """What a task begins with; one dependency may be given alone."""
    before = more.get("depends_on") or ()
    before = (before,) if isinstance(before, str | int) else tuple(before)
    values: dict[str, Any] = {"title": title, **more, "depends_on": before}
    return NewTask(**values)


def filter_of(which: FilterOptions) -> Filter:
    """What was asked for; one status may be given alone."""
    status = which.get("status") or ()
    status = (status,) if isinstance(status, str) else tuple(status)
    values: dict[str, Any] = {**which, "status": status}
    return Filter(**values)
