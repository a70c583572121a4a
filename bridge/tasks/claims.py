"""Who holds a task: one holder, until it lets go or is gone.

A claim belongs to a process or to a run of a flow (`Holder`), and an agent's ends with
its request. Anyone may take it back once that is gone, and not before. A process that
cannot be seen from here counts as alive for the lease of the store, as with requests.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from bridge.protocol.claim import HostProcess
from bridge.protocol.ids import RequestId
from bridge.store.claim import host_is_gone
from bridge.store.live_runs import is_marked, run_of
from bridge.store.queries import find_unfinished
from bridge.store.state import State
from bridge.store.store import Store
from bridge.tasks.fields import checked_text
from bridge.tasks.records import Ref, get, set_columns
from bridge.tasks.task import Holder, Status, Task, TaskClaimed
from bridge.tasks.transitions import Action, move

if TYPE_CHECKING:
    from bridge.store.sessions import Session

_PROCESS = ("pid", "start_time", "boot", "pid_namespace")
_COLUMNS = ", ".join((
    *("t.assignee", "c.at_ms", *(f"c.{name}" for name in _PROCESS)),
    *("c.run", "c.session", "c.request"),
))  # fmt: skip


def holder_of_run(store: Store, request_id: str | None) -> Holder | None:
    """As whom the agent of a request acts that a run has asked; None: of no run.

    What the run has claimed is its agents' to work on and to close.
    """
    run = run_of(store.place, request_id) if request_id else None
    return Holder(f"run {run}", run=run) if run else None


def holder_in(
    session: Session, agent_id: str = "", request: str | None = None
) -> Holder:
    """As whom a session's main thread acts, or an agent in it, for its request."""
    name = f"agent {agent_id}" if agent_id else f"session {session.session_id}"
    return Holder(name, session.host, session=session.session_id, request=request)


def claim(
    connection: sqlite3.Connection, store: Store, ref: Ref, holder: Holder
) -> Task:
    """Take a task: in progress, and the holder's. Its own again is no error.

    Raises:
        TaskClaimed: somebody else holds it, and is still there.
        TaskRefused: it is closed or escalated.
    """
    task = get(connection, ref)
    before = find_holder(connection, task.number)
    is_mine = before is not None and before[:3] == holder[:3]
    if is_mine and task.status is Status.IN_PROGRESS:
        return task
    _refuse_others(
        connection, store, task, holder, ways=("take another: hostbridge task ready",)
    )
    status = move(task.number, task.status, Action.CLAIM)
    now_ms = store.now_ms()
    set_columns(
        connection,
        task.number,
        now_ms,
        {"status": status, "assignee": checked_text("assignee", holder.assignee)},
    )
    process = (getattr(holder.process, name, None) for name in _PROCESS)
    request = _unfinished(store, holder.request)
    connection.execute(
        "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [task.number, now_ms, *process, holder.run, holder.session, request],
    )
    return get(connection, task.number)


def release(
    connection: sqlite3.Connection,
    store: Store,
    ref: Ref,
    holder: Holder,
    *,
    force: bool = False,
) -> Task:
    """Let a task go: open again, and nobody's. One that is open is left as it is.

    Raises:
        TaskClaimed: somebody else holds it, is still there, and `force` is not given.
        TaskRefused: it is not in progress.
    """
    task = get(connection, ref)
    if task.status is Status.OPEN:
        return task
    status = move(task.number, task.status, Action.RELEASE)
    if not force:
        _refuse_others(connection, store, task, holder, but=", not by you")
    let_go(connection, task.number)
    values = {"status": status, "assignee": None}
    set_columns(connection, task.number, store.now_ms(), values)
    return get(connection, task.number)


def _refuse_others(
    connection: sqlite3.Connection,
    store: Store,
    task: Task,
    holder: Holder,
    *,
    but: str = "",
    ways: tuple[str, ...] = (),
) -> None:
    """Refuse what only the holder of a task may do, while that is there."""
    before = find_holder(connection, task.number)
    if before is None or before[:3] == holder[:3] or _is_asked_again(before, holder):
        return
    with store.state() as state:
        if is_gone(state, connection, task.number):
            return
    raise TaskClaimed(
        f"task {task.ref} is claimed by {describe(before)}{but}",
        ways=(*ways, f"hostbridge task release {task.number} --force"),
    )


def take_back(connection: sqlite3.Connection, store: Store) -> list[int]:
    """Open again what those held who are gone; the numbers of these tasks.

    What needs a look goes on needing it.
    """
    gone = abandoned(connection, store)
    for number in gone:
        let_go(connection, number)
        if get(connection, number).status is Status.IN_PROGRESS:
            values = {"status": Status.OPEN, "assignee": None}
            set_columns(connection, number, store.now_ms(), values)
    return gone


def abandoned(connection: sqlite3.Connection, store: Store) -> list[int]:
    """The tasks in progress whose holders are gone."""
    rows = connection.execute("SELECT task FROM claims ORDER BY task").fetchall()
    if not rows:
        return []
    with store.state() as state:
        return [n for (n,) in rows if is_gone(state, connection, n)]


def find_holder(connection: sqlite3.Connection, number: int) -> Holder | None:
    """Who holds a task; None for nobody."""
    row = _row(connection, number)
    if row is None:
        return None
    assignee, _, *process, run, session, request = row
    return Holder(assignee or "", _process(process), run, session, request)


def let_go(connection: sqlite3.Connection, number: int) -> None:
    """End the claim of a task, whoever has it; its status is not changed."""
    connection.execute("DELETE FROM claims WHERE task = ?", [number])


def is_gone(state: State, connection: sqlite3.Connection, number: int) -> bool:
    """Whether who held a task is gone, or nobody holds it."""
    row = _row(connection, number)
    if row is None:
        return True
    _, at_ms, *process, run, session, request = row
    if run is not None:
        return not is_marked(state, run)
    if request is not None and find_unfinished(state, RequestId(request)) is None:
        return True
    found = _process(process)
    if found is None:
        return False
    return host_is_gone(state, session or "", found, sign_ms=at_ms)


def _is_asked_again(before: Holder, holder: Holder) -> bool:
    """Whether the first agent of a request has failed, and this is its next one."""
    return holder.request is not None and holder.request == before.request


def describe(holder: Holder) -> str:
    """A holder, for a person to find."""
    if holder.run is not None:
        return f"the run {holder.run} ({holder.assignee})"
    if holder.process is not None:
        return f"{holder.assignee} (pid {holder.process.pid})"
    return holder.assignee


def _unfinished(store: Store, request: str | None) -> str | None:
    """A request that has not ended: an agent that a person continues has none."""
    if request is None:
        return None
    with store.state() as state:
        return request if find_unfinished(state, RequestId(request)) else None


def _row(connection: sqlite3.Connection, number: int) -> Any:
    return connection.execute(
        f"SELECT {_COLUMNS} FROM claims c JOIN tasks t ON t.number = c.task "  # noqa: S608 - ours
        "WHERE c.task = ?",
        [number],
    ).fetchone()


def _process(values: list[Any]) -> HostProcess | None:
    if values[0] is None:
        return None
    return HostProcess(**dict(zip(_PROCESS, values, strict=True)))
