"""AgentOutput: the form of an answer unless the caller gives a schema."""

from typing import Annotated, Any, Literal

from bridge.protocol.plain_types import Limits
from bridge.protocol.record import Milliseconds
from bridge.protocol.value import Value

AgentStatus = Literal["success", "partial", "failed", "blocked"]


class Evidence(Value):
    """One piece of evidence for the agent's answer.

    `command` names a command that the agent ran. The bridge fills in `toolUseId` and
    `verified`, which is true only if that call was seen to run with that result.
    """

    type: str
    content: str
    passed: bool | None = None
    command: str | None = None
    tool_use_id: str | None = None
    verified: bool = False


class AgentOutput(Value):
    """An agent's report; the bridge fills in `agentId`, `taskId` and `timestamp`."""

    status: AgentStatus
    summary: Annotated[str, Limits(min_length=1)]
    evidence: tuple[Evidence, ...] = ()
    agent_id: str | None = None
    task_id: str | None = None
    timestamp: Milliseconds | None = None


# What the agent itself writes, as JSON Schema: without what the bridge fills in.
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["status", "summary"],
    "properties": {
        "status": {"enum": ["success", "partial", "failed", "blocked"]},
        "summary": {"type": "string", "minLength": 1},
        "evidence": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "content"],
                "properties": {
                    "type": {"type": "string"},
                    "content": {"type": "string"},
                    "passed": {"type": ["boolean", "null"]},
                    "command": {"type": ["string", "null"]},
                },
            },
        },
    },
}
