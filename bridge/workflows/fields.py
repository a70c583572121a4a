"""The fields of a step workflow's file, as they are written."""

from typing import Annotated, Any, Literal

from pydantic import Field

from bridge.agents.definition import StrictModel

NAME = r"^[A-Za-z_][A-Za-z0-9_-]{0,59}$"
Name = Annotated[str, Field(pattern=NAME)]
Items = Annotated[list[Any], Field(default_factory=list)]
Mapping = Annotated[dict[str, Any], Field(default_factory=dict)]
Text = Annotated[str, Field(min_length=1)]


class WorkflowFields(StrictModel):
    """A step workflow; steps and actions are checked for themselves.

    The last five change nothing here: public files have them.
    """

    name: Name | None = None
    description: str | None = None
    type: Literal["step", "steps"] = "step"
    mode: Literal["self", "terminal", "headless"] | None = None
    variables: Mapping
    session_variables: Mapping
    steps: Items
    exit_condition: Any = None
    on_premature_stop: Any = None
    version: Any = None
    enabled: Any = None
    priority: Any = None
    sources: Any = None
    settings: Any = None


class StepFields(StrictModel):
    """One step; actions, handlers and conditions are checked for themselves."""

    name: Name
    description: str | None = None
    status_message: Text | None = None
    allowed_tools: Any = None
    blocked_tools: Any = None
    allowed_mcp_tools: Any = None
    blocked_mcp_tools: Any = None
    blocked_commands: Items
    rules: Items
    on_enter: Items
    on_exit: Items
    on_tool: Any = None
    on_mcp_success: Items
    on_mcp_error: Items
    transitions: Items
    exit_when: Any = None
    on_premature_stop: Any = None


class TransitionFields(StrictModel):
    """A way to another step, taken once its condition holds."""

    to: Text
    when: Any = True
    on_transition: Items


class StepRuleFields(StrictModel):
    """A rule of a step: it refuses a call, or says something about it."""

    name: str | None = None
    when: Any = True
    tools: Any = None
    action: Literal["block", "warn"] = "block"
    message: Text
    reason: str | None = None


class CommandFields(StrictModel):
    """A command of a shell that a step refuses."""

    pattern: Text
    reason: Text | None = None


class StopFields(StrictModel):
    """What is said at a premature end of a turn, and how often."""

    action: Literal["guide_continuation", "block", "continue"] = "block"
    message: Text
    max: Annotated[int, Field(ge=1, le=100)] | None = None
