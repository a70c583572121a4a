"""An agent definition: one value, whatever format it was written in.

Three formats (a YAML agent, a subagent definition, a Markdown agent) are read into
this. Only the loaders know which it was.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from bridge.agents.agent_names import CLIENT_LAYERS, MAX_NAME, NAME, Layer
from bridge.protocol.ids import Priority
from bridge.routes import REMOTE, RouteName

# For our own loop, if the definition sets no limit.
DEFAULT_MAX_TURNS = 20
MAX_TURNS = 1000
Mode = Literal["terminal", "headless", "self"]
Spelling = Literal["yaml", "subagent", "markdown"]
# Of a definition that names neither routes nor another provider.
ROUTES_BY_MODE: dict[str | None, tuple[RouteName, ...]] = {
    "terminal": ("host",),
    "headless": ("claude",),
}

Name = Annotated[str, Field(pattern=f"^{NAME}$", max_length=MAX_NAME)]
MaxTurns = Annotated[int, Field(ge=1, le=MAX_TURNS)]
# Types that YAML has no values for: a list is read as a tuple, a string as a path.
Strings = Annotated[tuple[str, ...], Field(strict=False)]
FilePath = Annotated[Path, Field(strict=False)]
ContextNames = Annotated[tuple[Literal["change"], ...], Field(strict=False)]


def _check_file_name(value: str) -> str:
    if not value.isprintable() or set(value) & {"/", "\\"} or not value.strip("."):
        raise ValueError(
            "expected the name of a file in the folder of workflows, such as "
            "deploy.yaml"
        )
    return value


# A name in the library of workflows, with or without its suffix: no path.
WorkflowFile = Annotated[str, AfterValidator(_check_file_name)]


class StrictModel(BaseModel):
    """Frozen. A wrong type or an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Source(StrictModel):
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
        """Whether Claude Code reads the file itself: a session has its prompt."""
        return self.layer in CLIENT_LAYERS


class ToolDefinition(StrictModel):
    """A tool of a subagent: a `.pym` script, and the JSON Schema of its parameters.

    Source: subagent definition format, ToolDefinition.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")]
    pym: FilePath
    description: str
    parameters: dict[str, Any]
    context_providers: Annotated[list[FilePath], Field(strict=False)] = []


class ScriptTool(ToolDefinition):
    """A tool with its scripts as they were read and digested.

    This text is what runs, even if the files change later.
    """

    code: str = ""
    provider_codes: tuple[str, ...] = ()


class AgentWorkflow(StrictModel):
    """A step workflow that a call can name: its file, and where it acts.

    `mode: self` is on the caller, where a conversation calls; otherwise, and without a
    mode, it is in the agent's own conversation.
    """

    file: WorkflowFile
    mode: Mode | None = None


class OwnSteps(StrictModel):
    """A step workflow in an agent's own file: that text, and its fields in it.

    `agent` is the one that the file defines: agents that stand on it have these, too.
    """

    agent: str
    file: Path
    layer: Layer
    text: str
    fields: dict[str, Any]


class ExampleCall(StrictModel):
    """A tool call in an example, and its result."""

    tool: str
    arguments: dict[str, Any] = {}
    result: str


class Example(StrictModel):
    """One exchange that a small model sees before the real one (few-shot).

    `prompt` is the question, `calls` the tool calls with their results, `answer` the
    final value.
    """

    prompt: str
    calls: Annotated[tuple[ExampleCall, ...], Field(strict=False)] = ()
    answer: dict[str, Any]


class Bounds(StrictModel):
    """For how long one agent is given one question after the other.

    At most so many `questions`, and at most `age` seconds after its last answer; None
    for what the settings say.
    """

    questions: Annotated[int, Field(ge=2, le=1000)] | None = None
    age: Annotated[float, Field(gt=0, le=31_536_000)] | None = None


def _as_bounds(value: object) -> object:
    """`true` is without bounds of its own, `false` not at all."""
    if isinstance(value, bool):
        return {} if value else None
    return value


Reused = Annotated[Bounds | None, BeforeValidator(_as_bounds)]


class AgentFields(StrictModel):
    """The fields of a YAML agent that a definition keeps as they are written.

    Attributes:
        name: what callers ask for.
        description: its purpose, in one line.
        prompt: jinja2 over `task`, `arguments` and the variables; None: the task alone.
        model: haiku, sonnet, opus, fable, inherit, a GGUF file or `openai:NAME`.
        provider, mode: where it runs, as written; `routes` is what counts.
        tools: the tools it may call, None for all that the route has.
        blocked_tools: the tools it may never call.
        allow: permission rules for calls that need no approval.
        context: what is added to each request: `change`, the uncommitted change.
        examples: for small models.
        output_schema: JSON Schema of its answer; None for AgentOutput.
        require_verified_evidence: it succeeds only with verified evidence; in our own
            loop, it fails only after something ran.
        max_turns, priority, max_attempts: limits; None for the default.
        subagent_type: the client's agent that runs it on the host route.
        default_variables, lifecycle_variables, lifecycle_variables_mode: variables.
        lifecycle_workflow: the rule set that binds it; None for the usual one.
        workflow: the step workflow that it always works through.
        workflows: those that a call can name, by their keys.
        default_workflow: the key for a call that names none.
        reuse: for how long an agent of it that has answered in a session is given the
            next question of the same kind, with all that it knows by then; None for
            not at all.
        allow_questions: whether it may end with a question to its caller.
    """

    name: str
    description: str = ""
    prompt: str | None = None
    model: str | None = None
    provider: Literal["claude", "local", "endpoint"] | None = None
    mode: Mode | None = None
    tools: Strings | None = None
    blocked_tools: Strings = ()
    allow: Strings = ()
    context: ContextNames = ()
    examples: Annotated[tuple[Example, ...], Field(strict=False)] = ()
    output_schema: dict[str, Any] | None = None
    require_verified_evidence: bool = False
    max_turns: MaxTurns | None = None
    priority: Priority | None = None
    max_attempts: Annotated[int, Field(ge=1, le=100)] | None = None
    subagent_type: Name | None = None
    default_variables: dict[str, Any] = {}
    lifecycle_variables: dict[str, Any] = {}
    lifecycle_variables_mode: Literal["merge", "replace"] = "merge"
    lifecycle_workflow: Name | None = None
    workflow: WorkflowFile | None = None
    workflows: dict[str, AgentWorkflow] = {}
    default_workflow: str | None = None
    reuse: Reused = None
    allow_questions: bool = False


class Definition(AgentFields):
    """One agent.

    Attributes:
        source: where it was read.
        system_prompt: comes before everything else; None: a default.
        node_context: jinja2 over `node_text, node_name, node_type, file_path`.
        model_digest: the SHA-256 of a model file that the project brings. The file must
            still have it when it is loaded. None for any other model.
        routes: the routes that may answer it; empty if no route can run it yet.
        script_tools: tools of its own.
        timeout_s: None for the default.
        has_no_rules: `lifecycle_workflow` is null: no rules bind it.
        base: the agent that it stands on; None for none.
        steps: the step workflow in its own file; None for none.
    """

    source: Source
    system_prompt: str | None = None
    node_context: str | None = None
    model_digest: str | None = None
    routes: tuple[RouteName, ...] = ("host", "claude", "local", "endpoint")
    script_tools: tuple[ScriptTool, ...] = ()
    timeout_s: Annotated[float, Field(gt=0)] | None = None
    has_no_rules: bool = False
    base: str | None = None
    steps: OwnSteps | None = None

    def takes(self, route: RouteName) -> bool:
        """Whether a route may answer it: a call's own mode goes before its `mode`.

        The route remote asks a machine whose own routes it takes, or not.
        """
        if route == REMOTE:
            return True
        is_by_mode = self.routes == ROUTES_BY_MODE.get(self.mode)
        return route in self.routes or (is_by_mode and route in ("host", "claude"))
