"""The fields of a task that people and agents set: what each may hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from bridge.errors import InvalidRequest
from bridge.protocol.wording import quoted
from bridge.tasks.task import Priority

_LIMITS = {
    "title": 500, "description": 1_000_000, "category": 100,
    "validation_criteria": 100_000, "reason": 100_000, "assignee": 200, "text": 10_000,
}  # fmt: skip
_RANKS = {str(each.rank): each.rank for each in Priority} | {
    each.value: each.rank for each in Priority
}
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")


def checked_text(name: str, value: object) -> str:
    """A text that a column can hold.

    Raises:
        InvalidRequest: it is no text, too long, or cannot be written as UTF-8.
    """
    if not isinstance(value, str):
        raise InvalidRequest(f"{name}: expected text, got {quoted(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(f"{name}: {quoted(value)} is not UTF-8") from None
    if len(value) > _LIMITS[name]:
        raise InvalidRequest(
            f"{name}: {len(value):,} characters; at most {_LIMITS[name]:,}"
        )
    if name == "title":
        value = value.strip()
        if not value or len(value.splitlines()) > 1:
            raise InvalidRequest(
                f"title: must be one line of text, got {quoted(value)}; more goes into "
                "the description"
            )
    return value


def rank_of(priority: object) -> int:
    """The rank of a priority: `high`, `normal`, `low`, or 1, 2, 3.

    Raises:
        InvalidRequest: it is something else.
    """
    if isinstance(priority, bool) or str(priority) not in _RANKS:
        raise InvalidRequest(
            f"priority {quoted(priority)}: must be high, normal or low (or 1, 2, 3)"
        )
    return _RANKS[str(priority)]


def checked_uuid(text: object) -> str:
    """A uuid in its usual form; raises `InvalidRequest` for anything else."""
    if is_uuid(text):
        return str(text).lower()
    raise InvalidRequest(
        f"uuid {quoted(text)}: expected digits 8-4-4-4-12, as in an export"
    )


def is_uuid(text: object) -> bool:
    """Whether a text has the form of a uuid."""
    return isinstance(text, str) and _UUID.match(text.lower()) is not None


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidRequest(f"is_expanded: must be true or false, got {quoted(value)}")
    return value


# What a new task says in columns of its own, and how each value is checked.
CONTENT: dict[str, Callable[[Any], Any]] = {
    "title": partial(checked_text, "title"),
    "description": partial(checked_text, "description"),
    "priority": rank_of,
    "category": partial(checked_text, "category"),
    "validation_criteria": partial(checked_text, "validation_criteria"),
}
# What can be changed later, beside the parent.
CHANGEABLE = {**CONTENT, "is_expanded": _truth}
