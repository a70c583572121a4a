"""JSON Schemas of the records on disk, generated from their types.

`agent-answer` is the part of `agent-output` that the agent itself writes; its answer is
checked against it.
"""

from typing import Any

from bridge.api.typed_dict_schema import schema_of
from bridge.engine.results import ResultRecord
from bridge.errors import InvalidRequest
from bridge.policy.step_record import StepRecord
from bridge.protocol.agent_output import ANSWER_SCHEMA, AgentOutput
from bridge.protocol.question import Question
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.protocol.value import Value
from bridge.store.idle_agents import IdleAgent
from bridge.store.sessions import Session
from bridge.store.subagent_runs import AgentRun
from bridge.store.tool_calls import Callers
from bridge.tasks.task_record import TaskRecord

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_MODELS: dict[str, type[Value] | None] = {
    "request": Request,
    "response": Response,
    "agent-answer": None,
    "agent-output": AgentOutput,
    "session": Session,
    "agent-run": AgentRun,
    "idle-agent": IdleAgent,
    "question": Question,
    "callers": Callers,
    "task": TaskRecord,
}
# Those that are read and written as plain mappings.
_MAPPINGS = {"step-workflow": StepRecord, "step-result": ResultRecord}


def schema_names() -> list[str]:
    """The records that have a schema, in the order of a request's life."""
    return [*_MODELS, *_MAPPINGS]


def schema_for(name: str) -> dict[str, Any]:
    """The JSON Schema of a record, keys as on disk.

    Raises:
        InvalidRequest: no record has this name.
    """
    if name in _MAPPINGS:
        return {"$schema": DIALECT, **schema_of(_MAPPINGS[name])}
    if name not in _MODELS:
        known = ", ".join(schema_names())
        raise InvalidRequest(f"no record is named {name!r}; expected one of {known}")
    model = _MODELS[name]
    if model is None:
        return {"$schema": DIALECT, "title": "AgentAnswer", **ANSWER_SCHEMA}
    return {"$schema": DIALECT, **model.model_json_schema()}
