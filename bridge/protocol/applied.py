"""What an agent definition filled into a request."""

from typing import Annotated, Literal

from bridge.protocol.plain_types import Limits
from bridge.protocol.record import Milliseconds
from bridge.protocol.value import Value


def _check_printable(name: str) -> str:
    if not name.isprintable():
        raise ValueError("an agent's name cannot contain invisible characters")
    return name


# `plugin:name`, a Markdown agent's name, in any script, or `$name`, a flow's own agent.
# As it appears in sentences, it has no quotes, no markup, nothing invisible.
AgentName = Annotated[
    str,
    Limits(
        pattern=r"^\$?([A-Za-z0-9]|[^\x00-\x7f])[^\x00-\x1f\x7f\"`\\<>{}\[\]|*?]{0,127}$"
    ),
    _check_printable,
]


class WorkflowOf(Value):
    """The step workflow that an agent works through: its name, and whose it is.

    It is the one of this layer, or else of a layer below it. One that is `in_agent`
    stands in the file of the agent of that name, of this layer.
    """

    name: str
    layer: Literal["built-in", "user", "project"]
    in_agent: bool = False


class Reuse(Value):
    """How long one agent may be given the next question of its kind.

    At most so many `questions`, and at most `age` milliseconds after its last answer;
    None for what the settings say.
    """

    questions: Annotated[int, Limits(ge=2)] | None = None
    age: Milliseconds | None = None


class Applied(Value):
    """The agent definition that filled in what the asker left open.

    `digest` is the SHA-256 of the definition, `prompt` the whole prompt without the
    contract, `subagent_type` the client's agent that runs it, `base` the agent that a
    temporary one stands on, `workflow` what its conversation works through, `reuse`
    whether an agent that has answered may be given the next question.
    """

    digest: str
    prompt: str
    subagent_type: AgentName | None = None
    base: AgentName | None = None
    workflow: WorkflowOf | None = None
    reuse: Reuse | None = None
