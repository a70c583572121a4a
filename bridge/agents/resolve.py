"""The definition of a request's agent, at the moment when it is served.

A definition counts as it is at this moment, whoever made the request and however: by
`ask`, or as a file that another program dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.errors import InvalidRequest
from bridge.protocol.ids import RequestId, is_id

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.agents.definition import Definition
    from bridge.protocol.request import Request
    from bridge.store.store import Store

_FILLED_IN = (
    "model", "answer_schema", "timeout", "max_attempts", "variables", "definition",
    "context",
)  # fmt: skip


def resolve(definition: Definition | None, store: Store, request: Request) -> Request:
    """The request as its agent's definition has it; without one, as it was asked.

    Raises:
        InvalidRequest: the definition does not take such a request, or is gone.
    """
    if definition is not None:
        from bridge.agents.apply import applied

        request = with_context(definition, request, store.place.project)
        return applied(definition, request, parent_variables(store, request))
    if request.definition is not None:
        raise InvalidRequest(
            f"the definition of agent {request.agent_type!r} is gone since it was asked"
        )
    return request


def with_context(definition: Definition, request: Request, project: Path) -> Request:
    """The request with what its agent is to look at; what it has stays as it is.

    It is read once, where the request is made, or at its launch where another program
    dropped it: whoever serves it sees the same.
    """
    if "change" not in definition.context or "change" in request.context:
        return request
    from bridge.change.collect import READ_S, read_change

    # A part of the time there is: the agent needs the rest.
    timeout_s = min(READ_S, request.timeout / 1000 / 2)
    change = read_change(project, timeout_s=timeout_s)
    return request.with_(context={**request.context, "change": str(change)})


def filled_in(held: Request, request: Request) -> Request:
    """The record that is held, with what the definition made of the request."""
    return held.with_(**{field: getattr(request, field) for field in _FILLED_IN})


def parent_variables(store: Store, request: Request) -> dict[str, Any]:
    """The variables of the request whose agent asks; none where nobody knows it."""
    parent = request.parent_request_id
    if parent is None or not is_id(parent):
        return {}
    found = store.find(RequestId(parent))
    return found.request.variables if found and found.request else {}
