"""A task as JSON: what tools return, and `--json` prints."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.tasks.task import Task


def data_of(task: Task) -> dict[str, Any]:
    """One task; times are ISO 8601 in UTC, other tasks are named as `#42`."""
    return {
        "id": task.ref,
        "uuid": task.uuid,
        "title": task.title,
        "description": task.description,
        "status": str(task.status),
        "priority": str(task.priority),
        "category": task.category,
        "validation_criteria": task.validation_criteria,
        "parent": ref_of(task.parent),
        "depends_on": refs_of(task.depends_on),
        "assignee": task.assignee,
        "reason": task.reason,
        "is_expanded": task.is_expanded,
        "children": task.children,
        "closed_children": task.closed_children,
        "created_at": time_of(task.created_ms),
        "updated_at": time_of(task.updated_ms),
        "closed_at": time_of(task.closed_ms),
    }


def listed(tasks: Iterable[Task]) -> dict[str, Any]:
    """Several tasks, and how many they are."""
    found = [data_of(task) for task in tasks]
    return {"tasks": found, "count": len(found)}


def ref_of(number: int | None) -> str | None:
    """`#42`; None for none."""
    return None if number is None else f"#{number}"


def refs_of(numbers: Iterable[int]) -> list[str]:
    """Several, such as `#1` and `#2`."""
    return [f"#{number}" for number in numbers]


def time_of(at_ms: int | None) -> str | None:
    """A moment in UTC, to the millisecond; None for none."""
    if at_ms is None:
        return None
    moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
