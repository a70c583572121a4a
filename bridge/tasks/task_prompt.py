"""A task in words, for an agent that is told nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.tasks.database import Database
from bridge.tasks.records import get

if TYPE_CHECKING:
    from bridge.store.store import Store
    from bridge.tasks.task import Task


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
