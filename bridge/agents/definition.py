"""An agent definition: one value, whatever it was written in.

Three spellings (a YAML agent, a subagent definition, a Markdown agent) are read into
this; nothing beyond the loaders knows which it was.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from bridge.agents.names import CLIENT_LAYERS, Layer, is_name
from bridge.protocol.ids import Priority
from bridge.protocol.request import RouteName

# Of a model of ours, where the definition says nothing.
DEFAULT_MAX_TURNS = 20
MAX_TURNS = 1000
# What a definition may say, and nothing runs yet.
LATER = ("workflow", "workflows", "default_workflow", "lifecycle_workflow")
ContextName = Literal["change"]
Spelling = Literal["yaml", "subagent", "markdown"]


def _check_name(name: str) -> str:
    if not is_name(name):
        raise ValueError("no agent may be named so")
    return name


class Part(BaseModel):
    """A frozen part of a definition; a field nobody knows is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(Part):
    """Where a definition was read.

    `digest` is the SHA-256 of everything it would run or say: the file itself and the
    scripts that it names.
    """

    file: Path
    layer: Layer
    spelling: Spelling
    digest: str

    @property
    def is_clients(self) -> bool:
        """Whether Claude Code itself reads it: a session needs no words from us."""
        return self.layer in CLIENT_LAYERS


class ScriptTool(Part):
    """A tool of the definition's own: a `.pym` script with a JSON Schema.

    `code` and `provider_codes` are what the files held when they were digested: what
    runs is that, whatever has become of the files since.

    Source: subagent definition format, ToolDefinition.
    """

    name: str
    pym: Path
    description: str
    parameters: dict[str, Any]
    context_providers: tuple[Path, ...] = ()
    code: str = ""
    provider_codes: tuple[str, ...] = ()


class ExampleCall(Part):
    """A tool call in an example, and what it gave."""

    tool: str
    arguments: dict[str, Any]
    result: str


class Example(Part):
    """One exchange shown to a small model before the real one: few-shot.

    `prompt` is what is asked, `calls` the tool calls made with what they gave, `answer`
    the value answered.
    """

    prompt: str
    calls: tuple[ExampleCall, ...] = ()
    answer: dict[str, Any]


class Definition(Part):
    """One agent.

    Attributes:
        name: how it is asked for.
        description: what it is for, in one line.
        source: where it was read.
        prompt: jinja2 over `task`, `arguments` and the variables; None: the task alone.
        system_prompt: said before anything else; None: a default.
        node_context: jinja2 over `node_text, node_name, node_type, file_path`.
        model: haiku, sonnet, opus, fable, inherit, a GGUF file or `openai:NAME`.
        model_digest: the SHA-256 of a model file that the project brings, which must
            be that of what is loaded; None for any other.
        provider, mode: where it runs, as written; `routes` is what counts.
        routes: the routes that may answer it; none for what no route runs yet.
        tools: names it may call, None for all that the route has.
        blocked_tools: names it may never call.
        allow: granted without asking, as permission rules of Claude Code, each tool by
            the client's name.
        script_tools: tools of its own.
        context: what comes with each request: `change`, what is not committed.
        examples: for small models.
        output_schema: JSON Schema of its answer; None for AgentOutput.
        require_verified_evidence: success counts only with evidence that was verified;
            in our own loop a failure, too, only where something ran.
        timeout_s, max_turns, priority, max_attempts: limits; None for the default.
        subagent_type: the client's agent that runs it on the host route.
        default_variables, lifecycle_variables, lifecycle_variables_mode: variables.
        lifecycle_workflow, workflow, workflows, default_workflow: kept as written.
    """

    name: Annotated[str, AfterValidator(_check_name)]
    description: str = ""
    source: Source
    prompt: str | None = None
    system_prompt: str | None = None
    node_context: str | None = None
    model: str | None = None
    model_digest: str | None = None
    provider: Literal["claude", "local", "endpoint"] | None = None
    mode: Literal["terminal", "headless", "self"] | None = None
    routes: tuple[RouteName, ...] = ("host", "claude", "local", "endpoint")
    tools: tuple[str, ...] | None = None
    blocked_tools: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    script_tools: tuple[ScriptTool, ...] = ()
    context: tuple[ContextName, ...] = ()
    examples: tuple[Example, ...] = ()
    output_schema: dict[str, Any] | None = None
    require_verified_evidence: bool = False
    timeout_s: Annotated[float, Field(gt=0)] | None = None
    max_turns: Annotated[int, Field(ge=1, le=MAX_TURNS)] | None = None
    priority: Priority | None = None
    max_attempts: Annotated[int, Field(ge=1, le=100)] | None = None
    subagent_type: str | None = None
    default_variables: dict[str, Any] = {}
    lifecycle_variables: dict[str, Any] = {}
    lifecycle_variables_mode: Literal["merge", "replace"] = "merge"
    lifecycle_workflow: Any = None
    workflow: Any = None
    workflows: Any = None
    default_workflow: str | None = None


def not_run_yet(told: Definition | Any) -> list[str]:
    """What a definition, read or written, asks for and nothing runs yet.

    To lift it, take the name out of `LATER`.
    """
    later = [field for field in LATER if getattr(told, field)]
    return [*later, *(["mode: self"] if told.mode == "self" else [])]
