"""The fields that a pipeline's file may have: their names and types."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Mapping = dict[str, Any]
InputType = Literal[
    "string", "task", "integer", "number", "boolean", "array", "object", "any"
]


class _Fields(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=False)


class McpFields(_Fields):
    """A tool by its server, as other files name our tools."""

    server: str
    tool: str
    arguments: Mapping = Field(default_factory=dict)


class RepeatFields(_Fields):
    """A jump back while a condition holds, a limited number of times.

    When that number is used up and the condition holds still, the step has failed,
    unless the pipeline goes on `then`.
    """

    from_: str = Field(alias="from")
    while_: str | bool = Field(default=True, alias="while")
    max: int = Field(default=10, ge=1, le=10_000)
    then: Literal["go on", "fail"] = "fail"


class WaitFields(_Fields):
    """What is waited for, and how long."""

    for_: str | None = Field(default=None, alias="for")
    completion_id: str | None = None
    seconds: str | int | float | None = None
    until: str | int | float | None = None
    timeout: str | int | float | None = None


class ApprovalFields(_Fields):
    """What a person is asked, and how long the answer may take."""

    required: bool = True
    message: str | None = None
    timeout: str | int | float | None = None
    timeout_seconds: str | int | float | None = None


class InputFields(_Fields):
    """An input in its long form."""

    type: InputType = "any"
    required: bool | None = None
    default: Any = None
    description: str = ""


class StepFields(_Fields):
    """A step: what it does is said by one of the fields of `step_reader.KINDS`."""

    id: str
    name: str = ""
    description: str = ""
    condition: str | bool | None = None
    timeout: str | int | float | None = None
    retries: int = Field(default=0, ge=0, le=100)
    on_failure: Literal["abort", "skip"] | None = None
    repeat: RepeatFields | None = None
    approval: str | bool | Mapping | None = None
    agent: str | None = None
    prompt: str | None = None
    model: str | None = None
    mode: str | None = None
    task_id: str | int | None = None
    workflow: str | None = None
    background: bool = False
    worktree: str | None = None
    arguments: Mapping | None = None
    exec: str | list[Any] | None = None
    cwd: str | None = None
    env: Mapping | None = None
    tool: str | None = None
    mcp: McpFields | None = None
    wait: str | int | float | Mapping | None = None
    pipeline: str | None = None
    invoke_pipeline: str | Mapping | None = None
    inputs: Mapping | None = None
    set: Mapping | None = None
    fail: str | None = None


class PipelineFields(_Fields):
    """A whole file. The last ones are others' and mean nothing here."""

    name: str = ""
    type: Literal["pipeline"] = "pipeline"
    description: str = ""
    inputs: Mapping | None = None
    params: Mapping | None = None
    outputs: Mapping = Field(default_factory=dict)
    allow: list[str] = Field(default_factory=list)
    steps: list[Any] = Field(default_factory=list)
    version: Any = None
    tags: Any = None
    deprecated: Any = None
    deprecated_reason: Any = None
    enabled: Any = None
    priority: Any = None
    resume_on_restart: Any = None
    expose_as_tool: Any = None
