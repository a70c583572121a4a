"""The tools on tasks: what each takes, and what it does.

A tool is an operation (`bridge.operation`): a function by the tool's name, or a verb of
`Tasks`. `bridge.tasks.tool_table` lists them.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Unpack

from bridge.errors import InvalidRequest
from bridge.operation import Says
from bridge.tasks import claims, expansion, queries
from bridge.tasks import validation as validating
from bridge.tasks.database import Database, Joined
from bridge.tasks.expansion_spec import SCHEMA
from bridge.tasks.queries import Filter
from bridge.tasks.task import (
    Holder,
    ReadyQuery,
    Status,
    Task,
    TaskContent,
    TaskQuery,
)
from bridge.tasks.task_data import refs_of
from bridge.tasks.tasks import Called, Tasks

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.store.store import Store
    from bridge.tasks.validation import StartAgent

_PARTS = 100
_DIFF_CHARS = 20_000
_DIFF_S = 5.0

Title = Annotated[str, Says("One line.")]
Limit = Annotated[int, Says("How many at most.", least=1, most=500)]


class ToolContext(NamedTuple):
    """For whom a tool is called, and where.

    Attributes:
        holder: who claims, and as whom it is recorded.
        start_agent: asks an agent; None where no agent can be started.
        key: that of this call, under which it is done once; None for none.
        transaction: the one that the call is a part of; None: the tool has its own.
    """

    store: Store
    settings: Settings
    holder: Holder
    start_agent: StartAgent | None = None
    key: str | None = None
    transaction: sqlite3.Connection | None = None

    @property
    def database(self) -> Database:
        """The tasks of the project, in the transaction of the call if it has one."""
        if self.transaction is None:
            return Database(self.store)
        return Joined(self.store, self.transaction)

    @property
    def tasks(self) -> Tasks:
        """The verbs on these tasks, for the holder."""
        return Tasks(self.store, self.holder, self.database)


def list_tasks(
    context: ToolContext, limit: Limit = 50, **which: Unpack[TaskQuery]
) -> list[Task]:
    """The tasks that fit, by number."""
    return context.tasks.list(limit=limit, **which)


def list_ready_tasks(
    context: ToolContext,
    parent: Annotated[
        str | int | None, Says("Anywhere below this task.", also=("parent_task_id",))
    ] = None,
    limit: Limit = 10,
    **which: Unpack[ReadyQuery],
) -> list[Task]:
    """What can be begun, the most urgent first: nothing open is before or below it."""
    if parent is None:
        return context.tasks.ready(limit=limit, **which)
    return context.tasks.ready(limit=limit, under=parent, **which)


def create_task(
    context: ToolContext,
    title: Title,
    depends_on: Annotated[
        list[str | int], Says("Tasks that must be closed before.")
    ] = [],  # noqa: B006 - not changed
    claim: Annotated[bool, Says("Claim it at once.")] = False,  # noqa: FBT002 - a tool's argument
    **content: Unpack[TaskContent],
) -> Task:
    """Add a task."""
    task = context.tasks.create(title, depends_on=depends_on, **content)
    return context.tasks.claim(task.number) if claim else task


def update_task(
    context: ToolContext,
    task_id: Called,
    title: Title | None = None,
    **content: Unpack[TaskContent],
) -> Task:
    """Change a task; what is left out stays."""
    if title is not None:
        return context.tasks.update(task_id, title=title, **content)
    if not content:
        raise InvalidRequest(
            "update_task: nothing is to be changed; give title, description, priority, "
            "category, validation_criteria or parent"
        )
    return context.tasks.update(task_id, **content)


def save_expansion_spec(
    context: ToolContext,
    task_id: Called,
    spec: Annotated[dict[str, Any], Says(schema=SCHEMA)],
) -> Any:
    """Keep how a task is to be divided; execute_expansion then does it.

    What is wrong with the spec is said at once. A task is divided once.
    """
    with context.database.write() as connection:
        found = expansion.save(connection, task_id, spec, context.store.now_ms())
    return {
        "saved": True,
        "task_id": found.task.ref,
        "subtask_count": len(found.spec.subtasks),
        "pending": found.is_pending,
    }


def get_expansion_spec(context: ToolContext, task_id: Called) -> Any:
    """How a task is to be divided, and whether that still has to be executed."""
    task = context.tasks.get(task_id)
    with context.database.read() as connection:
        found = expansion.find(connection, task)
    if found is None:
        is_expanded = task.is_expanded
        return {"task_id": task.ref, "pending": False, "is_expanded": is_expanded}
    return expansion.data_of(found)


def execute_expansion(
    context: ToolContext,
    task_id: Annotated[
        str | int, Says("The task that is to be divided.", also=("parent_task_id",))
    ],
) -> Any:
    """Make the saved spec into tasks, all or none; again, it changes nothing."""
    with context.database.write() as connection:
        done, was_done = expansion.execute(connection, task_id, context.store.now_ms())
    return {
        "task_id": done.task.ref,
        "created": refs_of(done.created),
        "count": len(done.created),
        "is_expanded": True,
        "was_done": was_done,
    }


def orchestrate_ready_tasks(
    context: ToolContext,
    parent_task_id: Annotated[
        str | int | None, Says("Only tasks below this one.", also=("task_id", "parent"))
    ] = None,
    max_concurrent: Annotated[
        int | None,
        Says(
            "How many are worked on at once; by default as many agents as a session "
            "runs.",
            least=1,
            most=100,
        ),
    ] = None,
    claim: Annotated[bool, Says("Claim those that are handed out.")] = False,  # noqa: FBT002 - a tool's argument
) -> Any:
    """Which ready tasks to work on now: as many as there is room for.

    Room is what `max_concurrent` leaves beside the tasks that are in progress. Without
    `claim` nothing is claimed; with it, those that are handed out are yours.
    """
    with context.database.write() as connection:
        claims.take_back(connection, context.store)
        in_progress = Filter(status=(Status.IN_PROGRESS,), under=parent_task_id)
        begun = queries.listed(connection, in_progress)
        ready = queries.ready(connection, Filter(under=parent_task_id))
    room = max(0, (max_concurrent or context.settings.slots) - len(begun))
    handed_out, waiting = ready[:room], ready[room:]
    if claim:
        handed_out = [context.tasks.claim(task.number) for task in handed_out]
    return {
        "tasks": handed_out,
        "count": len(handed_out),
        "free": room,
        "in_progress": refs_of(task.number for task in begun),
        "waiting": refs_of(task.number for task in waiting[:_PARTS]),
        "waiting_count": len(waiting),
    }


def validate_task(
    context: ToolContext,
    task_id: Called,
    changes_summary: Annotated[
        str, Says("What was changed, for the validator.", most=20_000)
    ] = "",
) -> Any:
    """Have an agent look whether a task is done, unless one does so now.

    Returns at once: get_validation_status has the verdict.
    """
    look = validating.validate(
        context.database,
        task_id,
        context.start_agent,
        who=context.holder.assignee,
        summary=changes_summary,
        key=context.key,
    )
    return validating.data_of(look, context.settings.validation_max_iterations)


def get_validation_status(context: ToolContext, task_id: Called) -> Any:
    """How the validation of a task stands, and what it found.

    `state` is none, running, passed, failed or escalated. A task that was changed has
    to be validated again: `void` says so.
    """
    look = validating.look(context.database, task_id, context.start_agent)
    return validating.data_of(look, context.settings.validation_max_iterations)


def get_validation_context_smart(context: ToolContext, task_id: Called) -> Any:
    """All that a validator needs: the task, its parts, what earlier looks found.

    And what is not committed.
    """
    look = validating.look(context.database, task_id)
    parts = context.tasks.list(parent=look.task.number, limit=_PARTS)
    diff, notes = _uncommitted(context)
    return {
        "task": look.task,
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


def search_memories(
    context: ToolContext,
    query: Annotated[str, Says("Words; most of them should occur.", most=2000)],
    limit: Annotated[int, Says("How many at most.", least=1, most=50)] = 5,
) -> Any:
    """Look into past answers of agents, and closed tasks."""
    from bridge.tasks.memories import search

    found = search(context.store, query, limit=limit)
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
