"""A task for others: its one JSON form on every surface, and its words for an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.protocol.plain_types import camel_case
from bridge.tasks.database import Database
from bridge.tasks.records import get
from bridge.tasks.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.store.store import Store


def json_form(value: Any) -> Any:
    """A value as JSON: names in camelCase, times in milliseconds, tasks as objects."""
    match value:
        case Task():
            return json_form(_fields(value))
        case dict():
            return {camel_case(name): json_form(each) for name, each in value.items()}
        case list() | tuple():
            return [json_form(each) for each in value]
    return value


def _fields(task: Task) -> dict[str, Any]:
    """What is said of a task; other tasks are named as `#42`."""
    fields = task._asdict()
    times = {
        f"{name}_at": fields.pop(f"{name}_ms")
        for name in ("created", "updated", "closed")
    }
    links = {
        "parent": None if task.parent is None else f"#{task.parent}",
        "depends_on": refs_of(task.depends_on),
    }
    words = {"status": task.status.value, "priority": task.priority.value}
    return {"id": task.ref, **fields, **links, **words, **times}


def refs_of(numbers: Iterable[int]) -> list[str]:
    """Several tasks, such as `#1` and `#2`."""
    return [f"#{number}" for number in numbers]


def prompt_of(store: Store, ref: str) -> str:
    """What a task says.

    Raises:
        UnknownTask, InvalidRequest: there is no such task.
        TasksBusy, TasksDamaged: the tasks cannot be read.
    """
    with Database(store).read() as connection:
        return words_of(get(connection, ref))


def words_of(task: Task) -> str:
    """Its number and title, its description, and by what it is done."""
    parts = [f"Task {task.ref}: {task.title}"]
    if task.description.strip():
        parts.append(task.description.strip())
    if task.validation_criteria.strip():
        parts.append(f"It is done when:\n{task.validation_criteria.strip()}")
    return "\n\n".join(parts)
