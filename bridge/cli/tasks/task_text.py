"""Tasks as tables, as a tree, and one of them as a screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bridge.cli.common.output import ago, prose, visible
from bridge.cli.screen.screen import Line, Style, Styled, wrapped
from bridge.cli.screen.table import Column, table
from bridge.tasks.claims import describe
from bridge.tasks.task import Priority, Status, Task
from bridge.tasks.task_data import json_form

if TYPE_CHECKING:
    from bridge.tasks.queries import Branch
    from bridge.tasks.task import Holder

_COLUMNS = (
    Column("TASK"),
    Column("STATUS"),
    Column("PRIORITY", spare=3),
    Column("TITLE", least=30),
    Column("PARTS", spare=2),
    Column("AFTER", least=6, spare=4),
    Column("BY", least=8, spare=1),
)
_COLOURS: dict[Status, Style] = {
    Status.IN_PROGRESS: "green",
    Status.NEEDS_REVIEW: "yellow",
    Status.ESCALATED: "red",
    Status.CLOSED: "dim",
}
_FURTHER = "    "
# Further in, nobody sees how deep a task is, and a line would be all blanks.
_DEEPEST = 20


def task_table(tasks: Iterable[Task], width: int | None) -> Iterator[Line]:
    """A row for each task."""
    return table(_COLUMNS, map(_row, tasks), width)


def _row(task: Task) -> Sequence[str]:
    is_held = task.status is Status.IN_PROGRESS
    usual = task.priority is Priority.NORMAL
    return (
        task.ref,
        _status(task.status),
        "" if usual else task.priority,
        visible(task.title),
        _parts(task),
        " ".join(f"#{number}" for number in task.depends_on),
        visible(task.assignee or "") if is_held else "",
    )


def tree_lines(branches: Iterable[Branch], width: int | None) -> list[Line]:
    """Each task below its parent, further in."""
    lines: list[Line] = []
    for depth, task in branches:
        indent = "  " * min(depth, _DEEPEST)
        lines += wrapped(
            f"{indent}{line_of(task)}", width, below=_FURTHER, whole_words=True
        )
    return lines


def line_of(task: Task) -> str:
    """A task on one line."""
    known = [task.status.value]
    if task.children:
        known.append(f"{_parts(task)} closed")
    if task.status is Status.IN_PROGRESS and task.assignee:
        known.append(f"by {task.assignee}")
    return visible(f"{task.ref}  {task.title}  ({', '.join(known)})")


def task_lines(
    task: Task, holder: Holder | None, now_ms: int, width: int | None
) -> Iterator[Line]:
    """All that is known of one task."""
    heading = Styled(visible(f"{task.ref}  {task.title}"), "bold")
    yield from wrapped(heading, width, below=_FURTHER)
    by = f" by {describe(holder)}" if holder else ""
    facts = {
        "status": f"{task.status.value}{by}",
        "why": task.reason,
        "priority": task.priority.value,
        "category": task.category,
        "part of": "" if task.parent is None else f"#{task.parent}",
        "parts": f"{_parts(task)} closed" if task.children else "",
        "after": " ".join(f"#{number}" for number in task.depends_on),
        "created": ago((now_ms - task.created_ms) / 1000),
        "changed": ago((now_ms - task.updated_ms) / 1000),
        "uuid": task.uuid,
    }
    for name, value in facts.items():
        if value:
            line = f"{name:<11} {prose(value)}"
            yield from wrapped(line, width, "  ", below=_FURTHER, whole_words=True)
    for name, text in (
        ("description", task.description),
        ("done when", task.validation_criteria),
    ):
        if text:
            yield f"  {name}"
            yield from wrapped(visible(text, kept="\n\t"), width, _FURTHER)


def tree_value(branches: Iterable[Branch]) -> list[dict[str, Any]]:
    """A tree as JSON: each task with its `tasks`."""
    tops: list[dict[str, Any]] = []
    open_at: list[list[dict[str, Any]]] = [tops]
    for depth, task in branches:
        value: dict[str, Any] = json_form(task) | {"tasks": []}
        del open_at[depth + 1 :]
        open_at[depth].append(value)
        open_at.append(value["tasks"])
    return tops


def _parts(task: Task) -> str:
    """How far the parts of a task are."""
    if not task.children:
        return ""
    return f"{task.closed_children} of {task.children}"


def _status(status: Status) -> str:
    style = _COLOURS.get(status)
    return Styled(status.value, style) if style else status.value
