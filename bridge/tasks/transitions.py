"""The life of a task: one table, and the one function that obeys it."""

from __future__ import annotations

from enum import StrEnum

from bridge.tasks.task import Status, TaskRefused


class Action(StrEnum):
    """What can be done with a task as a whole."""

    CLAIM = "claim"
    RELEASE = "release"
    REVIEW = "review"
    CLOSE = "close"
    ESCALATE = "escalate"
    REOPEN = "reopen"


_LIVE = frozenset({Status.OPEN, Status.IN_PROGRESS, Status.NEEDS_REVIEW})

# From where each leads, and to where.
TRANSITIONS: dict[Action, tuple[frozenset[Status], Status]] = {
    # What needs review is claimed by whoever reviews it, or corrects it.
    Action.CLAIM: (_LIVE, Status.IN_PROGRESS),
    Action.RELEASE: (frozenset({Status.IN_PROGRESS}), Status.OPEN),
    Action.REVIEW: (_LIVE, Status.NEEDS_REVIEW),
    Action.ESCALATE: (_LIVE | {Status.ESCALATED}, Status.ESCALATED),
    # Closing twice is no error: a coordinator closes what a validator has closed.
    Action.CLOSE: (frozenset(Status), Status.CLOSED),
    Action.REOPEN: (
        frozenset({Status.CLOSED, Status.ESCALATED, Status.NEEDS_REVIEW}),
        Status.OPEN,
    ),
}


def move(number: int, status: Status, action: Action) -> Status:
    """The status that `action` leads to for the task of this number.

    Raises:
        TaskRefused: it cannot be done with a task of this status.
    """
    sources, target = TRANSITIONS[action]
    if status in sources:
        return target
    wanted = " or ".join(each for each in Status if each in sources)
    ways = () if status not in TRANSITIONS[Action.REOPEN][0] else (
        f"hostbridge task reopen {number}",
    )  # fmt: skip
    raise TaskRefused(
        f"task #{number} is {status}; to {action} it, it must be {wanted}", ways=ways
    )
