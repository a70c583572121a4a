"""A task: what is to be done, how far it is, who holds it. Values; no logic."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypedDict

from bridge.errors import InvalidRequest
from bridge.operation import Says

if TYPE_CHECKING:
    from bridge.protocol.claim import HostProcess


class Status(StrEnum):
    """Where a task is in its life; `bridge.tasks.transitions` says what may follow."""

    OPEN = "open"
    IN_PROGRESS = "in_progress"
    NEEDS_REVIEW = "needs_review"
    CLOSED = "closed"
    ESCALATED = "escalated"


class Priority(StrEnum):
    """What comes first among ready tasks."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"

    @property
    def rank(self) -> int:
        """1 for high, 2 for normal, 3 for low: as it is stored."""
        return RANKS.index(self) + 1


RANKS = (Priority.HIGH, Priority.NORMAL, Priority.LOW)


StatusName = Literal["open", "in_progress", "needs_review", "closed", "escalated"]
PriorityName = Annotated[
    Literal["high", "normal", "low", 1, 2, 3],
    Says("How urgent: high, normal or low (or 1, 2, 3)."),
]


class Holder(NamedTuple):
    """Who claims a task, and with what the claim ends.

    With the process, or with the run of a flow where there is one; of an agent with its
    request, too. A claim with none of them holds until somebody releases it.

    Attributes:
        assignee: who it is, for people: `person`, a session's id, an agent, a run.
        process: the process that holds it.
        run: the run of a flow that holds it.
        session: the session of that process: its heartbeat counts where the process
            cannot be seen.
        request: the request that an agent holds it for.
    """

    assignee: str
    process: HostProcess | None = None
    run: str | None = None
    session: str | None = None
    request: str | None = None


class Task(NamedTuple):
    """One task, as it was at one moment.

    Attributes:
        number: its number in this project: `#42`.
        uuid: by which it is known everywhere.
        assignee: who works on it, or did; None for nobody.
        reason: why it was escalated, closed by force, or sent to review.
        depends_on: the numbers of those that must be closed before, ascending.
        children: how many tasks have this one as their parent.
        closed_children: how many of these are closed.
        is_expanded: whether it was divided into children, or needs none.
        created_ms: milliseconds since 1970, as all times.
    """

    number: int
    uuid: str
    title: str
    description: str
    status: Status
    priority: Priority
    category: str
    validation_criteria: str
    parent: int | None
    assignee: str | None
    reason: str
    is_expanded: bool
    created_ms: int
    updated_ms: int
    closed_ms: int | None
    depends_on: tuple[int, ...]
    children: int
    closed_children: int

    @property
    def ref(self) -> str:
        """As people write it: `#42`."""
        return f"#{self.number}"


class NewTask(NamedTuple):
    """What a task begins with. `parent` and `depends_on` name others by `#42` or uuid.

    Without `uuid` it gets a new one.
    """

    title: str
    description: str = ""
    priority: str | int = "normal"
    category: str = ""
    validation_criteria: str = ""
    parent: str | int | None = None
    depends_on: tuple[str | int, ...] = ()
    uuid: str | None = None


class TaskContent(TypedDict, total=False):
    """What can be said of a task beside its title, at first and later."""

    description: Annotated[str, Says("What is to be done.", option="TEXT|-")]
    priority: PriorityName
    category: Annotated[str, Says("A word of your own.", also=("task_type",))]
    validation_criteria: Annotated[
        str,
        Says(
            "What has to be true for it to be done; checkable. With criteria, it is "
            "closed only once it was validated.",
            option="--criteria TEXT",
        ),
    ]
    parent: Annotated[
        str | int | None,
        Says(
            'The task that it is a part of; "none" for no task.',
            also=("parent_task_id",),
            option="TASK|none",
        ),
    ]


class TaskOptions(TaskContent, total=False):
    """What `Tasks.create` takes beside the title: see `NewTask`."""

    depends_on: tuple[str | int, ...] | list[str | int] | str | int
    uuid: str | None


class TaskFields(TaskContent, total=False):
    """What `Tasks.update` can change."""

    title: str
    is_expanded: bool


class ReadyQuery(TypedDict, total=False):
    """Which of the ready tasks."""

    category: Annotated[str, Says("Of this category.", also=("task_type",))]
    priority: PriorityName


class TaskQuery(ReadyQuery, total=False):
    """Which tasks: see `Filter`. One status may be given alone."""

    status: Annotated[
        StatusName | list[StatusName] | tuple[StatusName, ...],
        Says("Of this status, or one of several."),
    ]
    parent: Annotated[
        str | int, Says("Right below this task.", also=("parent_task_id",))
    ]
    under: Annotated[str | int, Says("Anywhere below this task.")]
    assignee: Annotated[str, Says("Taken by this one.")]
    text: Annotated[
        str, Says("In the title or the description.", option="--search TEXT")
    ]


class FilterOptions(TaskQuery, total=False):
    """Which tasks, and how many of them at most."""

    limit: Annotated[int, Says("At most so many.")]


class UnknownTask(InvalidRequest):
    """There is no such task."""

    __module__ = "bridge"
    code = "unknown_task"

    def __init__(self, ref: object) -> None:
        super().__init__(
            f"there is no task {ref}", ways=("see which there are: hostbridge task",)
        )
        self.ref = ref


class TaskRefused(InvalidRequest):
    """A task is not in a state in which this can be done; nothing was done."""

    __module__ = "bridge"
    code = "task_refused"


class TaskClaimed(TaskRefused):
    """Somebody else holds the task, and is still there."""

    __module__ = "bridge"
    code = "task_claimed"
