"""Apply the agent's definition to a request when it is served.

The definition counts as it is at that moment, whether the request came from `ask` or
from a file that another program dropped.
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
    """The request with its agent's definition applied, if it has one.

    Raises:
        InvalidRequest: it does not fit the definition, or that no longer exists.
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
    """The request with the context that its definition needs.

    It is read once, when the request is made (or launched, if another program dropped
    it), so that every route sees the same.
    """
    if "change" not in definition.context or "change" in request.context:
        return request
    from bridge.change.collect import READ_S, read_change

    # At most half of the time: the agent needs the rest.
    timeout_s = min(READ_S, request.timeout / 1000 / 2)
    change = read_change(project, timeout_s=timeout_s)
    return request.with_(context={**request.context, "change": str(change)})


def filled_in(held: Request, request: Request) -> Request:
    """The claimed record, with the fields that the definition filled in."""
    return held.with_(**{field: getattr(request, field) for field in _FILLED_IN})


def parent_variables(store: Store, request: Request) -> dict[str, Any]:
    """The variables of the request whose agent made this one; none if unknown."""
    parent = request.parent_request_id
    if parent is None or not is_id(parent):
        return {}
    found = store.find(RequestId(parent))
    return found.request.variables if found and found.request else {}
