"""The life of a request: one table, and the one function that obeys it."""

from enum import StrEnum


class Status(StrEnum):
    """Where a request is in its life."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


class Stage(StrEnum):
    """How far a request had come: what a waiter reports when it gives up."""

    NO_HOST = "no host"
    WAITING = "waiting"
    PAUSED = "paused"
    OFFERED = "offered"
    RUNNING = "running"
    ASKING = "asking"
    INVALID_ANSWER = "invalid answer"

    @property
    def words(self) -> str:
        """The stage as people read it: for them, a host is an open session."""
        return "no open session" if self is Stage.NO_HOST else self.value

    @property
    def at_the_end(self) -> str:
        """How things stood when the time was up, for people."""
        return _AT_THE_END[self]


_AT_THE_END = {
    Stage.NO_HOST: "no open session could take it",
    Stage.WAITING: "nobody had taken it",
    Stage.PAUSED: "it waited for the time of its next try",
    Stage.OFFERED: "it had been offered to a session, which started no agent",
    Stage.RUNNING: "the agent was still at work",
    Stage.ASKING: "its agent had asked a question, and nobody had replied",
    Stage.INVALID_ANSWER: "the agent was still correcting its answer",
}


FINAL = frozenset({Status.COMPLETED, Status.FAILED, Status.TIMEOUT, Status.CANCELLED})

TRANSITIONS: dict[Status, frozenset[Status]] = {
    # A person may answer, and a limit may end, what no host has taken.
    Status.PENDING: FINAL | {Status.PROCESSING},
    # Back to pending: the host is gone or declined, or the try failed for a reason that
    # may pass, and tries are left.
    Status.PROCESSING: FINAL | {Status.PENDING},
    **dict.fromkeys(FINAL, frozenset()),
}


def move(current: Status, target: Status) -> Status:
    """Return `target` if a request may go there from `current`.

    Raises:
        ValueError: the table does not allow it.
    """
    if target not in TRANSITIONS[current]:
        raise ValueError(f"a request cannot go from {current} to {target}")
    return target


def ignore(_event: object) -> None:
    """Do nothing: the default callback for stages and progress."""
