"""A request for a defined agent, at its launch: looked up, trusted, filled in.

A definition counts as it is at this moment, whoever made the request and however: by
`ask`, or as a file that another program dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.errors import InvalidRequest
from bridge.protocol.ids import RequestId, is_id

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.host.scene import Scene
    from bridge.protocol.request import Request

GENERAL = "general-purpose"
_FILLED_IN = (
    "model", "answer_schema", "timeout", "max_attempts", "variables", "definition",
)  # fmt: skip


def find_definition(scene: Scene, request: Request) -> Definition | None:
    """The definition of the agent that is asked for; None for one of the client's own.

    Raises:
        BadDefinition: it has problems.
        NotTrusted: it is the project's, and its user has not looked at it as it is.
    """
    from bridge.agents.registry import Registry

    registry = Registry.open(scene.settings, scene.store.place.project)
    return registry.find(request.agent_type)


def as_defined(
    scene: Scene, request: Request, definition: Definition | None
) -> Request:
    """The request with what the definition says; without one, as it was asked.

    Raises:
        InvalidRequest: the definition does not take such a request, or is gone.
    """
    if definition is None:
        if request.definition is not None:
            raise InvalidRequest(
                f"the definition of agent {request.agent_type!r} is gone since it was "
                "asked"
            )
        return request
    from bridge.agents.applying import applied

    return applied(definition, request, _parent_variables(scene, request))


def _parent_variables(scene: Scene, request: Request) -> dict[str, Any]:
    parent = request.parent_request_id
    if parent is None or not is_id(parent):
        return {}
    found = scene.store.find(RequestId(parent))
    return found.request.variables if found and found.request else {}


def filled_in(held: Request, request: Request) -> Request:
    """The record that is held, with what the definition made of the request."""
    return held.with_(**{field: getattr(request, field) for field in _FILLED_IN})


def limits_of(definition: Definition | None) -> dict[str, Any]:
    """What a run must know of its definition: fields of `AgentRun`."""
    if definition is None:
        return {}
    from bridge.agents.toolnames import on_host

    tools = definition.tools
    return {
        "tools": None if tools is None else on_host(tools),
        "blocked_tools": on_host(definition.blocked_tools),
        "allow": definition.allow,
        "max_turns": definition.max_turns,
        "require_verified_evidence": definition.require_verified_evidence,
    }


def subagent_type(request: Request) -> str:
    """The client's agent that runs the request."""
    if request.definition is None:
        return request.agent_type
    return request.definition.subagent_type or GENERAL
