"""JSON Schemas of the records on disk, generated from the models.

`agent-answer` is the part of `agent-output` that the agent itself writes; its answer is
checked against it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.errors import InvalidRequest
from bridge.protocol.agent_output import ANSWER_SCHEMA, AgentOutput
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.store.sessions import Session
from bridge.store.subagent_runs import AgentRun

if TYPE_CHECKING:
    from bridge.protocol.value import Value

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_MODELS: dict[str, type[Value]] = {
    "request": Request,
    "response": Response,
    "agent-output": AgentOutput,
    "session": Session,
    "agent-run": AgentRun,
}
_ANSWER = "agent-answer"


def schema_names() -> list[str]:
    """The records that have a schema, in the order of a request's life."""
    names = list(_MODELS)
    names.insert(names.index("agent-output"), _ANSWER)
    return names


def schema_for(name: str) -> dict[str, Any]:
    """The JSON Schema of a record, keys as on disk.

    Raises:
        InvalidRequest: no record has this name.
    """
    if name == _ANSWER:
        return {"$schema": DIALECT, "title": "AgentAnswer", **ANSWER_SCHEMA}
    if name not in _MODELS:
        known = ", ".join(schema_names())
        raise InvalidRequest(f"no record is named {name!r}; expected one of {known}")
    return {"$schema": DIALECT, **_MODELS[name].model_json_schema()}
