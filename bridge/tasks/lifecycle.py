"""How a task ends, is looked at, and begins again."""

from __future__ import annotations

import sqlite3

from bridge.errors import InvalidRequest
from bridge.tasks.claims import find_holder, let_go
from bridge.tasks.database import tell
from bridge.tasks.fields import checked_text
from bridge.tasks.records import Ref, get, select, set_columns
from bridge.tasks.task import Holder, Status, Task, TaskRefused
from bridge.tasks.transitions import Action, move
from bridge.tasks.validation_state import forget, note_forced, why_unvalidated

_NAMED = 10


def close(
    connection: sqlite3.Connection,
    ref: Ref,
    now_ms: int,
    *,
    reason: str = "",
    force: bool = False,
    who: str = "",
) -> Task:
    """Close a task. One that is closed is left as it is.

    `who` is written down, with the reason, where a validation is overruled.

    Raises:
        TaskRefused: children of it are not closed, or it has validation criteria and
            was not validated, and it is not forced.
        InvalidRequest: it is forced without a reason.
    """
    task = get(connection, ref)
    status = move(task.number, task.status, Action.CLOSE)
    if task.status is Status.CLOSED:
        return task
    _refuse_open_children(connection, task)
    unvalidated = why_unvalidated(connection, task)
    if force and not reason.strip():
        raise InvalidRequest(
            f"task {task.ref}: to close it by force takes a reason",
            ways=(f'hostbridge task close {task.number} --force --reason "…"',),
        )
    if unvalidated and not force:
        raise TaskRefused(
            f"task {task.ref} cannot be closed: {unvalidated}",
            ways=(
                f"have it validated: hostbridge task validate {task.number}",
                f'hostbridge task close {task.number} --force --reason "…"',
            ),
        )
    why = checked_text("reason", reason)
    if unvalidated:
        note_forced(connection, task, who, why, now_ms)
    tell(connection, "closed", task.number)
    return _put(connection, task, status, now_ms, closed_ms=now_ms, reason=why)


def review(
    connection: sqlite3.Connection,
    ref: Ref,
    now_ms: int,
    *,
    note: str = "",
    holder: Holder | None = None,
) -> Task:
    """Say that a task is done and needs a look; whoever held it lets it go.

    But a run that holds it, and is the `holder` that says so, keeps it: its next step
    is that look.
    """
    task = get(connection, ref)
    status = move(task.number, task.status, Action.REVIEW)
    values = {"status": status, "reason": checked_text("reason", note)}
    before = find_holder(connection, task.number)
    if not (before and holder and holder.run and before[:3] == holder[:3]):
        let_go(connection, task.number)
    set_columns(connection, task.number, now_ms, values)
    return get(connection, task.number)


def escalate(
    connection: sqlite3.Connection, ref: Ref, now_ms: int, *, reason: str
) -> Task:
    """Hand a task to a person, who reopens it, or closes it.

    Raises:
        InvalidRequest: there is no reason.
    """
    task = get(connection, ref)
    status = move(task.number, task.status, Action.ESCALATE)
    why = checked_text("reason", reason)
    if not why.strip():
        raise InvalidRequest(f"task {task.ref}: to escalate it takes a reason")
    if task.status is not Status.ESCALATED:
        tell(connection, "escalated", task.number)
    return _put(connection, task, status, now_ms, reason=why)


def reopen(connection: sqlite3.Connection, ref: Ref, now_ms: int) -> Task:
    """Open a closed, escalated or reviewed task again, and the closed ones above it.

    One that is open is left as it is.
    """
    task = get(connection, ref)
    if task.status is Status.OPEN:
        return task
    _open(connection, task, now_ms)
    above = task
    while above.status is Status.CLOSED and above.parent is not None:
        above = get(connection, above.parent)
        if above.status is Status.CLOSED:
            _open(connection, above, now_ms)
    return get(connection, task.number)


def _open(connection: sqlite3.Connection, task: Task, now_ms: int) -> None:
    status = move(task.number, task.status, Action.REOPEN)
    forget(connection, task.number, "the task was opened again")
    _put(connection, task, status, now_ms, closed_ms=None, reason="", assignee=None)


def _put(
    connection: sqlite3.Connection,
    task: Task,
    status: Status,
    now_ms: int,
    **values: str | int | None,
) -> Task:
    """The task in its new status, held by nobody."""
    let_go(connection, task.number)
    set_columns(connection, task.number, now_ms, {"status": status, **values})
    return get(connection, task.number)


def _refuse_open_children(connection: sqlite3.Connection, task: Task) -> None:
    left = task.children - task.closed_children
    if not left:
        return
    found = select(
        connection,
        "WHERE t.parent = ? AND t.status <> 'closed' ORDER BY t.number LIMIT ?",
        [task.number, _NAMED],
    )
    named = ", ".join(f"{child.ref} ({child.status})" for child in found)
    more = f" and {left - len(found)} more" if left > len(found) else ""
    raise TaskRefused(
        f"task {task.ref} cannot be closed before its children are: {named}{more}",
        ways=(f"see them: hostbridge task tree {task.number}",),
    )
