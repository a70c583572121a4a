"""AgentOutput: the answer of every agent unless the caller asks for another shape."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from bridge.protocol.plain_types import Limits
from bridge.protocol.record import Milliseconds
from bridge.protocol.value import Value

AgentStatus = Literal["success", "partial", "failed", "blocked"]


class Evidence(Value):
    """One thing the agent's answer rests on.

    `command` names a command that the agent ran. `toolUseId` and `verified` are filled
    in by the bridge: `verified` is true only where that call was seen to run with that
    end.
    """

    type: str
    content: str
    passed: bool | None = None
    command: str | None = None
    tool_use_id: str | None = None
    verified: bool = False


class AgentOutput(Value):
    """What an agent reports; `agentId`, `taskId`, `timestamp` come from the bridge."""

    status: AgentStatus
    summary: Annotated[str, Limits(min_length=1)]
    evidence: tuple[Evidence, ...] = ()
    agent_id: str | None = None
    task_id: str | None = None
    timestamp: Milliseconds | None = None


# The part that the agent itself writes, as JSON Schema: what the contract shows and
# what is checked. By hand, not generated: it leaves out what the bridge fills in.
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
