"""What each tool takes: the schema that a model sees, and what is checked.

Pipelines that were written for other systems give a `session_id`, too: it is not
looked at, since who calls is known.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

# Taken and not looked at.
IGNORED = ("session_id", "project")

TaskRef = Annotated[
    str | int, Field(description="A task: #42, 42, or its uuid.", union_mode="smart")
]
Status = Literal["open", "in_progress", "needs_review", "closed", "escalated"]
Priority = Annotated[
    Literal["high", "normal", "low", 1, 2, 3],
    Field(description="high, normal or low (or 1, 2, 3)."),
]
Title = Annotated[str, Field(description="One line.")]
Criteria = Annotated[
    str, Field(description="What has to be true for it to be done; checkable.")
]
Limit = Annotated[int, Field(ge=1, le=500, description="How many at most.")]


class Arguments(BaseModel):
    """The arguments of a tool: those it names, and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_ignored(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        known = cls.model_fields
        return {
            name: value
            for name, value in given.items()
            if name not in IGNORED or name in known
        }


class OfTask(Arguments):
    """One task."""

    task_id: TaskRef


class ListTasks(Arguments):
    """Which tasks."""

    status: Status | list[Status] | None = None
    parent: TaskRef | None = Field(
        None,
        validation_alias=AliasChoices("parent", "parent_task_id"),
        description="Right below this task.",
    )
    under: TaskRef | None = Field(None, description="Anywhere below this task.")
    category: str | None = None
    assignee: str | None = None
    priority: Priority | None = None
    text: str | None = Field(None, description="In the title or the description.")
    limit: Limit = 50


class ListReady(Arguments):
    """Which of the ready tasks."""

    parent: TaskRef | None = Field(
        None,
        validation_alias=AliasChoices("parent", "parent_task_id"),
        description="Anywhere below this task.",
    )
    category: str | None = None
    priority: Priority | None = None
    limit: Limit = 10


class CreateTask(Arguments):
    """A new task."""

    title: Title
    description: str = ""
    priority: Priority = "normal"
    category: str = Field("", validation_alias=AliasChoices("category", "task_type"))
    validation_criteria: Criteria = ""
    parent: TaskRef | None = Field(
        None,
        validation_alias=AliasChoices("parent", "parent_task_id"),
        description="The task that it is a part of.",
    )
    depends_on: list[TaskRef] = Field(
        default=[], description="Tasks that must be closed before."
    )
    claim: bool = Field(default=False, description="Claim it at once.")


class UpdateTask(OfTask):
    """What is to be changed; what is left out stays."""

    title: Title | None = None
    description: str | None = None
    priority: Priority | None = None
    category: str | None = None
    validation_criteria: Criteria | None = None
    parent: TaskRef | None = Field(
        None,
        validation_alias=AliasChoices("parent", "parent_task_id"),
        description='The task that it becomes a part of; "none" for no task.',
    )


class Release(OfTask):
    """A task that is let go."""

    force: bool = Field(default=False, description="Also if another holds it.")


class Review(OfTask):
    """A task that needs a look."""

    note: str = Field("", description="What to look at.")


class Escalate(OfTask):
    """A task that a person has to decide about."""

    reason: str = Field(description="What the person has to know.")


class Close(OfTask):
    """A task that is done."""

    reason: str = Field(
        "",
        validation_alias=AliasChoices("reason", "changes_summary"),
        description="What was done, or why by force.",
    )
    force: bool = Field(
        default=False,
        description="Close it without a validation that passed. Needs a reason, which "
        "is kept, with who did it.",
    )


class Subtask(BaseModel):
    """A part of the task, for the schema alone: `expansion_spec` reads it."""

    model_config = ConfigDict(extra="allow")

    title: Title
    id: str | None = Field(None, description="By which others depend on it.")
    description: str | None = None
    validation_criteria: str | None = None
    category: str | None = None
    priority: str | int | None = Field(None, description="high, normal or low.")
    depends_on: list[int | str] = Field(
        default=[],
        description="What must be closed before: positions in this list, from 0; ids "
        "of it; or tasks such as #42.",
    )


Spec = Annotated[
    dict[str, Any],
    WithJsonSchema({
        "type": "object",
        "required": ["subtasks"],
        "properties": {
            "subtasks": {"type": "array", "items": Subtask.model_json_schema()}
        },
    }),
]  # fmt: skip


class SaveSpec(OfTask):
    """How a task is to be divided."""

    spec: Spec


class Execute(Arguments):
    """The task that is divided."""

    task_id: TaskRef = Field(validation_alias=AliasChoices("task_id", "parent_task_id"))


class Validate(OfTask):
    """The task that is looked at."""

    changes_summary: str = Field(
        "", max_length=20_000, description="What was changed, for the validator."
    )


class Orchestrate(Arguments):
    """Whose ready tasks, and how many at once."""

    parent_task_id: TaskRef | None = Field(
        None,
        validation_alias=AliasChoices("parent_task_id", "task_id", "parent"),
        description="Only tasks below this one.",
    )
    max_concurrent: int | None = Field(
        None,
        ge=1,
        le=100,
        description="How many are worked on at once; by default as many agents as a "
        "session runs.",
    )
    claim: bool = Field(default=False, description="Claim those that are handed out.")


class Search(Arguments):
    """What is looked for."""

    query: str = Field(description="Words; most of them should occur.", max_length=2000)
    limit: int = Field(5, ge=1, le=50, description="How many at most.")
