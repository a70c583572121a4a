"""What the journal is told of tasks: events, once the change that made them is durable.

A kill in between leaves a line out, no more; nothing depends on it but metrics.
"""

from __future__ import annotations

import sqlite3
from typing import Any, Literal

Event = Literal["created", "closed", "escalated", "passed", "failed"]


class Connection(sqlite3.Connection):
    """A connection that remembers what its transaction did: events, each with its task.

    `passed` and `failed` is how a validation ended.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.news: list[tuple[Event, int]] = []


def tell(connection: sqlite3.Connection, event: Event, number: int) -> None:
    """Have this told of a task when the transaction is done."""
    if isinstance(connection, Connection):
        connection.news.append((event, number))
