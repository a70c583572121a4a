"""What a wait waits for, and until when. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.policy.condition import ConditionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.engine.run import Entry, LinkedNode
    from bridge.flow.details import Template

_MOST_S = 366 * 86_400


def awaited(node: LinkedNode) -> list[str]:
    """The steps that a node waits for; none if it waits for a time, or is no wait."""
    wait = node.get("wait", {})
    return [wait["node"]] if "node" in wait else wait.get("nodes", [])


def is_at_work(entry: Entry) -> bool:
    """Whether a step has ended whose agent works on in the background, or did."""
    return entry.get("kind") == "background" and entry.get("state") == "ok"


def ends_by(node: LinkedNode, asked_ms: int, value: Callable[[Template], Any]) -> Entry:
    """When a node that was asked then ends by itself, and when it has failed.

    Raises:
        ConditionError: it cannot be told.
    """
    found: Entry = {}
    wait = node.get("wait", {})
    if (seconds := wait.get("seconds")) is not None:
        found["until"] = asked_ms + milliseconds(value(seconds))
    if (until := wait.get("until")) is not None:
        found["moment"] = moment(value(until))
    if (template := node.get("deadline_s")) is not None:
        deadline_s = value(template)
        if deadline_s is not None:
            found["deadline"] = asked_ms + milliseconds(deadline_s)
    return found


def milliseconds(seconds: Any) -> int:
    """A time in seconds, a number or a text, in milliseconds.

    Raises:
        ConditionError: it is something else, or longer than a year.
    """
    found = _number(seconds)
    if found is None or not 0 <= found <= _MOST_S:
        raise ConditionError(
            0, f"a time must be a number of seconds up to a year, got {seconds!r}"
        )
    return int(found * 1000)


def moment(value: Any) -> int:
    """A moment, in seconds since 1970 or as ISO 8601, in milliseconds since 1970.

    Raises:
        ConditionError: it is something else.
    """
    from datetime import datetime

    found = _number(value)
    try:
        if found is None:
            found = datetime.fromisoformat(value).timestamp()
        return int(found * 1000)
    except (TypeError, ValueError, OverflowError):
        message = f"`until` must be seconds since 1970 or ISO 8601, got {value!r}"
        raise ConditionError(0, message) from None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except ValueError:
        return None
