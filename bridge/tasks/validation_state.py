"""What is known of a task's validation, as far as closing it depends on that."""

from __future__ import annotations

import sqlite3

from bridge.tasks.task import Task


def why_unvalidated(_connection: sqlite3.Connection, task: Task) -> str:
    """Why a task with validation criteria may not be closed yet; empty if it may."""
    return "it has not been validated" if task.validation_criteria.strip() else ""
