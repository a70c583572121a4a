"""What is known of a task's validation: each look at it, and what counts of that.

A verdict is about a text: the title, the description and the criteria, by their digest.
Once these are changed, it says nothing about the task any more. The verdict itself is
in the answer of the validator's request; whoever looks writes it down here.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bridge.protocol.digest import sha256_of
from bridge.protocol.ids import RequestId
from bridge.protocol.plain_json import dumps, loads
from bridge.protocol.status import Status as RequestStatus
from bridge.tasks.database import tell
from bridge.tasks.task import Status, Task

if TYPE_CHECKING:
    from bridge.store.store import Store

_CHANGED = "the task was changed after validation {turn} had begun"
_GONE = "its request is not there any more"
# What counts as a look at the task: the others are void, or no look at all.
_COUNTED = ("running", "passed", "failed")
_COLUMNS = (
    "turn, digest, state, request, summary, feedback, why, who, began_ms, ended_ms"
)


class Turn(NamedTuple):
    """One look at a task: `state` is running, passed, failed, void or forced."""

    turn: int
    digest: str
    state: str
    request: str | None
    summary: str
    feedback: tuple[str, ...]
    why: str
    who: str
    began_ms: int
    ended_ms: int | None


class Standing(NamedTuple):
    """How a task stands: `state` is none, running, passed, failed or escalated.

    Attributes:
        last: the newest look that was not forced; None for none.
        iteration: how many looks count, the running one included.
        void: why the last look says nothing about the task as it is now; or empty.
        feedback: what the last look that ended said.
    """

    state: str
    last: Turn | None
    iteration: int
    void: str
    feedback: tuple[str, ...]


def text_digest(task: Task) -> str:
    """What stands for the text that is validated."""
    text = [task.title, task.description, task.validation_criteria]
    return sha256_of(dumps(text))


def turns(connection: sqlite3.Connection, number: int) -> list[Turn]:
    """All looks at a task, the oldest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM validations WHERE task = ? ORDER BY turn",  # noqa: S608 - ours
        [number],
    )
    return [
        Turn(turn, digest, state, request, summary, tuple(loads(feedback)), *rest)
        for turn, digest, state, request, summary, feedback, *rest in rows
    ]


def standing(connection: sqlite3.Connection, task: Task) -> Standing:
    """How a task stands, by what was written down."""
    known = [each for each in turns(connection, task.number) if each.state != "forced"]
    last = known[-1] if known else None
    counted = [each for each in known if each.state in _COUNTED]
    said = next((t.feedback for t in reversed(known) if t.ended_ms is not None), ())
    state, void = "none", ""
    if last is not None and last.state == "void":
        void = last.why
    elif last is not None and last.digest != text_digest(task):
        void = _CHANGED.format(turn=last.turn)
    elif last is not None:
        state = last.state
    if task.status is Status.ESCALATED:
        state = "escalated"
    return Standing(state, last, len(counted), void, said)


def why_unvalidated(connection: sqlite3.Connection, task: Task) -> str:
    """Why a task with validation criteria may not be closed yet; empty if it may."""
    if not task.validation_criteria.strip():
        return ""
    found = standing(connection, task)
    last = found.last
    if found.void:
        return f"it has to be validated again: {found.void}"
    if last is None:
        return "it has not been validated"
    if last.state == "running":
        return "its validation has not ended"
    if last.state == "failed":
        said = "; ".join(last.feedback[:3]) or last.why
        return f"its validation failed: {said}" if said else "its validation failed"
    return ""


def settle(connection: sqlite3.Connection, store: Store, task: Task) -> bool:
    """Write down what the running validation came to, if it has ended; whether it has.

    One whose task was changed meanwhile is void, whatever it says.
    """
    running = _running(connection, task.number)
    if running is None:
        return False
    ended = _ended(store, task, running)
    if ended is None:
        return False
    state, feedback, why = ended
    connection.execute(
        "UPDATE validations SET state = ?, feedback = ?, why = ?, ended_ms = ? "
        "WHERE task = ? AND turn = ? AND state = 'running'",
        [state, _json(feedback), why, store.now_ms(), task.number, running.turn],
    )
    if state != "void":
        tell(connection, state, task.number)
    return True


def is_due(connection: sqlite3.Connection, store: Store, task: Task) -> bool:
    """Whether `settle` would write something down."""
    running = _running(connection, task.number)
    return running is not None and _ended(store, task, running) is not None


def begin(
    connection: sqlite3.Connection, task: Task, summary: str, who: str, now_ms: int
) -> Turn:
    """Begin another look at a task."""
    known = turns(connection, task.number)
    turn = Turn(
        known[-1].turn + 1 if known else 1, text_digest(task), "running", None, summary,
        (), "", who, now_ms, None,
    )  # fmt: skip
    _insert(connection, task.number, turn)
    return turn


def name_request(
    connection: sqlite3.Connection, number: int, turn: Turn, request: str
) -> None:
    """Write down by which request a look is made, also if that was given up already."""
    changed = connection.execute(
        "UPDATE validations SET request = ? WHERE task = ? AND turn = ?",
        [request, number, turn.turn],
    )
    if not changed.rowcount:
        _insert(connection, number, turn._replace(request=request))


def give_up(connection: sqlite3.Connection, number: int, turn: Turn) -> None:
    """Forget a look for which nobody was asked."""
    connection.execute(
        "DELETE FROM validations WHERE task = ? AND turn = ? AND request IS NULL",
        [number, turn.turn],
    )


def forget(connection: sqlite3.Connection, number: int, why: str) -> None:
    """What was said so far says nothing any more; nor does it count."""
    connection.execute(
        "UPDATE validations SET state = 'void', why = ? "
        "WHERE task = ? AND state IN ('running', 'passed', 'failed')",
        [why, number],
    )


def note_forced(
    connection: sqlite3.Connection, task: Task, who: str, reason: str, now_ms: int
) -> None:
    """Write down who closed a task by force, and why."""
    known = turns(connection, task.number)
    turn = Turn(
        known[-1].turn + 1 if known else 1, text_digest(task), "forced", None, "",
        (), reason, who, now_ms, now_ms,
    )  # fmt: skip
    _insert(connection, task.number, turn)


def data_of(task: Task, turn: Turn) -> dict[str, Any]:
    """A look at a task, as JSON."""
    return {
        "turn": turn.turn,
        "state": turn.state,
        "feedback": list(turn.feedback),
        "why": turn.why,
        "who": turn.who,
        "request_id": turn.request,
        "is_of_this_text": turn.digest == text_digest(task),
        "began_at": turn.began_ms,
        "ended_at": turn.ended_ms,
    }


def _running(connection: sqlite3.Connection, number: int) -> Turn | None:
    found = turns(connection, number)
    return found[-1] if found and found[-1].state == "running" else None


def _ended(
    store: Store, task: Task, running: Turn
) -> tuple[Literal["passed", "failed", "void"], tuple[str, ...], str] | None:
    """What a look came to, what it said, and why it is no verdict; None: it goes on."""
    if running.digest != text_digest(task):
        return "void", (), _CHANGED.format(turn=running.turn)
    if running.request is None:
        return None
    found = store.find(RequestId(running.request))
    if found is None:
        return "void", (), _GONE
    response = found.response
    if response is None:
        return None
    said = response.parsed_output
    if response.status is RequestStatus.COMPLETED and isinstance(said, dict):
        feedback = _texts(said.get("feedback"))
        if isinstance(said.get("passed"), bool):
            return ("passed" if said["passed"] else "failed"), feedback, ""
    error = response.error
    why = f"{error.code}: {error.message}" if error else "it gave no verdict"
    return "failed", (f"the validator did not answer: {why}",), why


def _texts(value: object) -> tuple[str, ...]:
    found = value if isinstance(value, list) else [value] if value else []
    return tuple(
        each if isinstance(each, str) else dumps(each).decode() for each in found
    )


def _insert(connection: sqlite3.Connection, number: int, turn: Turn) -> None:
    values = [*turn._replace(feedback=_json(turn.feedback))]  # type: ignore[arg-type]  # as the column has it
    connection.execute(
        f"INSERT OR IGNORE INTO validations (task, {_COLUMNS}) "  # noqa: S608 - ours
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [number, *values],
    )


def _json(feedback: tuple[str, ...]) -> str:
    return dumps(feedback).decode()
