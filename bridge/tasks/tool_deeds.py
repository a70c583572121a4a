"""What the tools do: most of them within one transaction of their caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.errors import InvalidRequest
from bridge.tasks import (
    changes,
    claims,
    expansion,
    lifecycle,
    queries,
    records,
    validation_state,
)
from bridge.tasks import validation as validating
from bridge.tasks.database import Database
from bridge.tasks.queries import Filter
from bridge.tasks.task import Holder, NewTask, Status
from bridge.tasks.task_data import data_of, listed, refs_of
from bridge.tasks.tasks import Tasks

if TYPE_CHECKING:
    import sqlite3

    from bridge.config import Settings
    from bridge.store.store import Store
    from bridge.tasks import tool_arguments as given
    from bridge.tasks.validation import StartAgent

_PARTS = 100
_DIFF_CHARS = 20_000
_DIFF_S = 5.0


class ToolContext(NamedTuple):
    """For whom a tool is called, and where.

    Attributes:
        holder: who claims, and as whom it is recorded.
        start_agent: asks an agent; None where no agent can be started.
        key: that of this call, under which it is done once; None for none.
    """

    store: Store
    settings: Settings
    holder: Holder
    start_agent: StartAgent | None = None
    key: str | None = None

    @property
    def database(self) -> Database:
        """The tasks of the project."""
        return Database(self.store)


Deed = Callable[[ToolContext, "sqlite3.Connection", Any], Any]


def get_task(_: ToolContext, tasks: sqlite3.Connection, what: given.OfTask) -> Any:
    """One task: how far it is, and what it asks for."""
    return data_of(records.get(tasks, what.task_id))


def list_tasks(_: ToolContext, tasks: sqlite3.Connection, what: given.ListTasks) -> Any:
    """The tasks that fit, by number."""
    status = (what.status,) if isinstance(what.status, str) else what.status or ()
    fields = what.model_dump() | {"status": tuple(status)}
    return listed(queries.listed(tasks, Filter(**fields)))


def list_ready_tasks(context: ToolContext, what: given.ListReady) -> Any:
    """What can be begun, the most urgent first: nothing open is before or below it."""
    fields = what.model_dump()
    return listed(Tasks(context.store).ready(under=fields.pop("parent"), **fields))


def create_task(
    context: ToolContext, tasks: sqlite3.Connection, what: given.CreateTask
) -> Any:
    """Add a task."""
    fields = what.model_dump(exclude={"claim"})
    new = NewTask(**fields | {"depends_on": tuple(what.depends_on)})
    number = records.insert(tasks, new, context.store.now_ms())
    if what.claim:
        claims.claim(tasks, context.store, number, context.holder)
    return data_of(records.get(tasks, number))


def update_task(
    context: ToolContext, tasks: sqlite3.Connection, what: given.UpdateTask
) -> Any:
    """Change a task; what is left out stays."""
    values = what.model_dump(exclude={"task_id"}, exclude_none=True)
    if values.get("parent") == "none":
        values["parent"] = None
    if not values:
        raise InvalidRequest(
            "update_task: nothing is to be changed; give title, description, priority, "
            "category, validation_criteria or parent"
        )
    return data_of(changes.update(tasks, what.task_id, values, context.store.now_ms()))


def claim_task(
    context: ToolContext, tasks: sqlite3.Connection, what: given.OfTask
) -> Any:
    """Take a task: nobody else gets it until you release or close it, or are gone."""
    return data_of(claims.claim(tasks, context.store, what.task_id, context.holder))


def release_task(
    context: ToolContext, tasks: sqlite3.Connection, what: given.Release
) -> Any:
    """Let a task go: it is open again."""
    store, holder = context.store, context.holder
    task = claims.release(tasks, store, what.task_id, holder, force=what.force)
    return data_of(task)


def mark_task_needs_review(
    context: ToolContext, tasks: sqlite3.Connection, what: given.Review
) -> Any:
    """Say that a task is done, and needs a look."""
    now_ms, holder = context.store.now_ms(), context.holder
    task = lifecycle.review(tasks, what.task_id, now_ms, note=what.note, holder=holder)
    return data_of(task)


def escalate_task(
    context: ToolContext, tasks: sqlite3.Connection, what: given.Escalate
) -> Any:
    """Hand a task to a person."""
    now_ms = context.store.now_ms()
    return data_of(lifecycle.escalate(tasks, what.task_id, now_ms, reason=what.reason))


def reopen_task(
    context: ToolContext, tasks: sqlite3.Connection, what: given.OfTask
) -> Any:
    """Open a closed or escalated task again; it has to be validated anew."""
    return data_of(lifecycle.reopen(tasks, what.task_id, context.store.now_ms()))


def close_task(
    context: ToolContext, tasks: sqlite3.Connection, what: given.Close
) -> Any:
    """Close a task that is done; with validation criteria it must have passed.

    validate_task has it looked at.
    """
    store = context.store
    task = records.get(tasks, what.task_id)
    # The verdict may be there, and nobody has looked.
    validation_state.settle(tasks, store, task)
    closed = lifecycle.close(
        tasks, what.task_id, store.now_ms(), reason=what.reason, force=what.force,
        who=context.holder.assignee,
    )  # fmt: skip
    return data_of(closed)


def save_expansion_spec(
    context: ToolContext, tasks: sqlite3.Connection, what: given.SaveSpec
) -> Any:
    """Keep how a task is to be divided; execute_expansion then does it.

    What is wrong with the spec is said at once. A task is divided once.
    """
    found = expansion.save(tasks, what.task_id, what.spec, context.store.now_ms())
    return {
        "saved": True,
        "task_id": found.task.ref,
        "subtask_count": len(found.spec.subtasks),
        "pending": found.is_pending,
    }


def get_expansion_spec(
    _: ToolContext, tasks: sqlite3.Connection, what: given.OfTask
) -> Any:
    """How a task is to be divided, and whether that still has to be executed."""
    task = records.get(tasks, what.task_id)
    found = expansion.find(tasks, task)
    if found is None:
        is_expanded = task.is_expanded
        return {"task_id": task.ref, "pending": False, "is_expanded": is_expanded}
    return expansion.data_of(found)


def execute_expansion(
    context: ToolContext, tasks: sqlite3.Connection, what: given.Execute
) -> Any:
    """Make the saved spec into tasks, all or none; again, it changes nothing."""
    done, was_done = expansion.execute(tasks, what.task_id, context.store.now_ms())
    return {
        "task_id": done.task.ref,
        "created": refs_of(done.created),
        "count": len(done.created),
        "is_expanded": True,
        "was_done": was_done,
    }


def orchestrate_ready_tasks(
    context: ToolContext, tasks: sqlite3.Connection, what: given.Orchestrate
) -> Any:
    """Which ready tasks to work on now: as many as there is room for.

    Room is what `max_concurrent` leaves beside the tasks that are in progress. Without
    `claim` nothing is claimed; with it, those that are handed out are yours.
    """
    store, under = context.store, what.parent_task_id
    claims.take_back(tasks, store)
    begun = queries.listed(tasks, Filter(status=(Status.IN_PROGRESS,), under=under))
    room = max(0, (what.max_concurrent or context.settings.slots) - len(begun))
    ready = queries.ready(tasks, Filter(under=under))
    handed_out = ready[:room]
    if what.claim:
        handed_out = [
            claims.claim(tasks, store, task.number, context.holder)
            for task in handed_out
        ]
    return listed(handed_out) | {
        "free": room,
        "in_progress": refs_of(task.number for task in begun),
        "waiting": refs_of(task.number for task in ready[room:][:_PARTS]),
        "waiting_count": len(ready[room:]),
    }


def validate_task(context: ToolContext, what: given.Validate) -> Any:
    """Have an agent look whether a task is done, unless one does so now.

    Returns at once: get_validation_status has the verdict.
    """
    look = validating.validate(
        context.database,
        what.task_id,
        context.start_agent,
        who=context.holder.assignee,
        summary=what.changes_summary,
        key=context.key,
    )
    return validating.data_of(look, context.settings.validation_max_iterations)


def get_validation_status(context: ToolContext, what: given.OfTask) -> Any:
    """How the validation of a task stands, and what it found.

    `state` is none, running, passed, failed or escalated. A task that was changed has
    to be validated again: `void` says so.
    """
    look = validating.look(context.database, what.task_id, context.start_agent)
    return validating.data_of(look, context.settings.validation_max_iterations)


def get_validation_context_smart(context: ToolContext, what: given.OfTask) -> Any:
    """All that a validator needs: the task, its parts, what earlier looks found.

    And what is not committed.
    """
    look = validating.look(context.database, what.task_id)
    with context.database.read() as tasks:
        parts = queries.listed(tasks, Filter(parent=look.task.number, limit=_PARTS))
    diff, notes = _uncommitted(context)
    return {
        "task": data_of(look.task),
        "validation_criteria": look.task.validation_criteria,
        "parts": [
            {"id": p.ref, "title": p.title, "status": str(p.status), "reason": p.reason}
            for p in parts
        ],
        "iteration": look.standing.iteration,
        "max_iterations": context.settings.validation_max_iterations,
        "feedback": list(look.standing.feedback),
        "changes_summary": look.standing.last.summary if look.standing.last else "",
        "uncommitted": diff,
        "notes": notes,
    }


def search_memories(context: ToolContext, what: given.Search) -> Any:
    """Look into past answers of agents, and closed tasks."""
    from bridge.tasks.memories import search

    found = search(context.store, what.query, limit=what.limit)
    memories = [each._asdict() for each in found.memories]
    return {"memories": memories, "count": len(memories), "not_read_yet": found.left}


def _uncommitted(context: ToolContext) -> tuple[str, list[str]]:
    """What is not committed in the project, as far as it can be said soon."""
    from bridge.change.collect import read_change

    change = read_change(context.store.place.project, timeout_s=_DIFF_S)
    diff, notes = change.diff, list(change.notes)
    if len(diff) > _DIFF_CHARS:
        notes = [*notes, f"cut after {_DIFF_CHARS:,} of {len(diff):,} characters"]
    return diff[:_DIFF_CHARS], notes
