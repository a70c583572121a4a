"""The input of the loop, as a value."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridge.agent_loop.chat_model import ChatModel
from bridge.agent_loop.model_policy import ModelPolicy, policy_for
from bridge.agent_loop.tool import Tool
from bridge.agents.definition import Definition, Source
from bridge.policy.rule_decision import Ruling
from bridge.policy.tool_names import SUBMIT, call_on_host
from bridge.protocol.names import GENERAL
from bridge.protocol.outcome import Progress
from bridge.protocol.request import Request
from bridge.protocol.status import ignore
from bridge.store.clock import Clock, SystemClock

# An agent without a definition of its own: every tool that needs no grant.
NO_DEFINITION = Definition(
    name=GENERAL,
    source=Source(file=Path(), layer="built-in", spelling="yaml", digest=""),
)


def no_rules(_event: str, **_fields: Any) -> Ruling:
    """Nothing binds the agent."""
    return Ruling()


@dataclass(frozen=True, slots=True)
class RunLimits:
    """How much one run may use.

    `tokens` limits all replies of the model together, `reply_tokens` each of them.
    `result_chars` is how much of a tool's result the model sees, `command_s` how many
    seconds one command may take, `corrections` how many mistakes the model may correct.
    """

    tokens: int = 16_384
    reply_tokens: int = 2_048
    result_chars: int = 4_000
    command_s: float = 120.0
    corrections: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One request to be answered by a model.

    Attributes:
        request: the request.
        definition: the agent's definition.
        model: a model that is ready; the run does not close it.
        project: the folder whose files may be read.
        deadline_s: when the run ends, on the monotonic clock.
        prompt: the rendered prompt; None for the request's own text.
        instructions: the prompt without the task, if the two can be separated. A small
            model reads them before the examples, and the task alone after them.
        own_tools: tools of ours that the definition lists.
        limits: how much it may use.
        on_progress: called with the progress.
        log: called with each event of the run; must not raise.
        is_cancelled: called often: between steps, for each file of a search, and while
            a model or a command is at work.
        ask_rules: what rules say of an event, named and told as the client's.
        note_look: called with the client's name and input of each call, before it runs.
        steps: what the model is told of its step workflow; empty without one.
        clock: the wall clock and the monotonic clock.
    """

    request: Request
    model: ChatModel
    project: Path
    deadline_s: float
    definition: Definition = NO_DEFINITION
    prompt: str | None = None
    instructions: str | None = None
    own_tools: tuple[Tool, ...] = ()
    limits: RunLimits = field(default_factory=RunLimits)
    on_progress: Callable[[Progress], None] = ignore
    log: Callable[[dict[str, Any]], None] = ignore
    is_cancelled: Callable[[], bool] = lambda: False
    ask_rules: Callable[..., Ruling] = no_rules
    note_look: Callable[[str, dict[str, Any]], None] = lambda _tool, _input: None
    steps: str = ""
    clock: Clock = field(default_factory=SystemClock)

    @property
    def policy(self) -> ModelPolicy:
        """How a model of this size is instructed and limited."""
        return policy_for(is_small=self.model.is_small)

    @property
    def wanted_schema(self) -> dict[str, Any] | None:
        """The answer's schema: the caller's or the agent's; None: AgentOutput."""
        own = (t.parameters for t in self.definition.script_tools if t.name == SUBMIT)
        found = (self.request.answer_schema, self.definition.output_schema, *own)
        return next((schema for schema in found if schema is not None), None)

    def with_steps(self, task: str) -> str:
        """The task, with what is said of the step workflow."""
        return f"{task}\n\n{self.steps}" if self.steps else task

    def is_over(self) -> bool:
        """Whether the run was cancelled, or its deadline has passed."""
        return self.clock.monotonic_s() >= self.deadline_s or self.is_cancelled()

    def on_host(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """A call as the fields of the client's event, about which rules are asked."""
        name, tool_input = call_on_host(tool, arguments)
        if isinstance(path := tool_input.get("file_path"), str):
            tool_input["file_path"] = str(self.project / path)
        return {"tool_name": name, "tool_input": tool_input}
