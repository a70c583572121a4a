"""Apply a definition to a request: fill in what the caller left open. Pure.

This happens when a request is made. For one that another program dropped, it happens at
its launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agents.prompt import check_arguments, render_request
from bridge.errors import InvalidRequest
from bridge.protocol.request import Applied

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.agents.definition import Definition
    from bridge.protocol.request import Request


def choices(definition: Definition) -> dict[str, Any]:
    """The fields of a request that the definition sets, by their names there."""
    timeout_s = definition.timeout_s
    fields = {
        "model": definition.model,
        "answer_schema": definition.output_schema,
        "timeout": None if timeout_s is None else max(1, int(timeout_s * 1000)),
        "priority": definition.priority,
        "max_attempts": definition.max_attempts,
    }
    return {field: value for field, value in fields.items() if value is not None}


def applied(
    definition: Definition, request: Request, parent: Mapping[str, Any] | None = None
) -> Request:
    """The request with the definition applied, ready for its route.

    `parent` has the variables of the calling agent. In the result, `definition.prompt`
    is what the agent will be told, before the contract.

    Raises:
        InvalidRequest: its route, schema or arguments do not fit the definition.
    """
    check_route(definition, request.route)
    if request.definition is None:
        request = request.with_(
            **_left_open(request, choices(definition)),
            variables=_variables(parent or {}, definition, request.variables),
        )
    check_schema(definition, request.answer_schema)
    check_arguments(definition, request)
    note = Applied(
        digest=definition.source.digest,
        prompt=render_request(definition, request).whole,
        subagent_type=definition.subagent_type,
    )
    return request.with_(definition=note)


def _variables(
    parent: Mapping[str, Any], definition: Definition, call: Mapping[str, Any]
) -> dict[str, Any]:
    """The variables of the agent: the calling agent's, the definition's, the call's.

    Later ones win. `null` means off: it survives, and hides what came before.
    """
    replaces = definition.lifecycle_variables_mode == "replace"
    inherited = {} if replaces else parent
    own = {**definition.default_variables, **definition.lifecycle_variables}
    return {**inherited, **own, **call}


def check_route(definition: Definition, route: str) -> None:
    """Check that a definition can run, on this route.

    Raises:
        InvalidRequest: it takes other routes, or needs something that this version does
            not run: without that it would be another agent.
    """
    if unsupported := definition.unsupported():
        raise InvalidRequest(
            f"agent {definition.name!r} cannot be asked yet: this version does not run "
            f"{' or '.join(unsupported)}; remove it from {definition.source.file}, or "
            "ask another agent"
        )
    if route not in definition.routes:
        raise InvalidRequest(
            f"agent {definition.name!r} does not take the route {route}; it takes "
            f"{' or '.join(definition.routes)}"
        )


def check_schema(definition: Definition, schema: Mapping[str, Any] | None) -> None:
    """Check that an answer has room for the evidence that the definition needs.

    Raises:
        InvalidRequest: the schema has no property for it.
    """
    # With script tools our own loop sees what runs, and needs no claim.
    if not definition.require_verified_evidence or definition.script_tools:
        return
    if schema is not None and "evidence" not in (schema.get("properties") or {}):
        raise InvalidRequest(
            f"agent {definition.name!r} must show evidence, but the requested schema "
            "has no property `evidence`"
        )


def _left_open(request: Request, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The definition's fields that the request does not set, even to the default.

    The priority is part of the id, so it is too late for that.
    """
    return {
        field: value
        for field, value in fields.items()
        if field != "priority"
        and (field not in request.model_fields_set or getattr(request, field) is None)
    }
