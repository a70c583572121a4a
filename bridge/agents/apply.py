"""What a definition makes of a request: it fills in what the asker left open. Pure.

Done where a request is made, and at its launch for one that another program dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agents.definition import not_run_yet
from bridge.agents.prompt import check_arguments, render_request
from bridge.errors import InvalidRequest
from bridge.policy.variables import merge
from bridge.protocol.request import Applied

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.agents.definition import Definition
    from bridge.protocol.request import Request


def choices(definition: Definition) -> dict[str, Any]:
    """The fields of a request that the definition gives, by their names there."""
    timeout_s = definition.timeout_s
    told = {
        "model": definition.model,
        "answer_schema": definition.output_schema,
        "timeout": None if timeout_s is None else max(1, int(timeout_s * 1000)),
        "priority": definition.priority,
        "max_attempts": definition.max_attempts,
    }
    return {field: value for field, value in told.items() if value is not None}


def applied(
    definition: Definition, request: Request, parent: Mapping[str, Any] | None = None
) -> Request:
    """The request as the definition has it, ready for its route.

    `parent` are the variables of the agent that asks. `definition.prompt` of the record
    is what the agent will be told, before the contract.

    Raises:
        InvalidRequest: its route, its form or its words do not go with the definition.
    """
    check_route(definition, request.route)
    if request.definition is None:
        request = request.with_(
            **_left_open(request, choices(definition)),
            variables=merge(parent or {}, definition, request.variables),
        )
    check_shape(definition, request.answer_schema)
    check_arguments(definition, request)
    told = render_request(definition, request)
    note = Applied(
        digest=definition.source.digest,
        prompt=told.whole,
        subagent_type=definition.subagent_type,
    )
    return request.with_(definition=note)


def check_route(definition: Definition, route: str) -> None:
    """Let a route pass that the definition takes.

    Raises:
        InvalidRequest: it takes others.
    """
    check_is_run(definition)
    if route in definition.routes:
        return
    takes = " or ".join(definition.routes)
    raise InvalidRequest(
        f"agent {definition.name!r} does not take the route {route}; it takes {takes}"
    )


def check_is_run(definition: Definition) -> None:
    """Let a definition pass all of which counts when it runs.

    Raises:
        InvalidRequest: it asks for what nothing runs yet; without that it would be
            another agent.
    """
    later = not_run_yet(definition)
    if later:
        raise InvalidRequest(
            f"agent {definition.name!r} cannot be asked yet: this version does not run "
            f"{' or '.join(later)}; take it out of {definition.source.file}, or ask "
            "another agent"
        )


def check_shape(definition: Definition, schema: Mapping[str, Any] | None) -> None:
    """Let a form of answer pass that leaves room for what the definition demands.

    Raises:
        InvalidRequest: evidence is demanded, and the form has none.
    """
    if not definition.require_verified_evidence or schema is None:
        return
    if definition.script_tools:
        # Our own loop sees its tools run, and needs no claim to go by.
        return
    if "evidence" not in (schema.get("properties") or {}):
        raise InvalidRequest(
            f"agent {definition.name!r} must show evidence, and the schema asked for "
            "has no property `evidence`"
        )


def _left_open(request: Request, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the definition gives of what the request does not say.

    What it says counts, also where that is the default. Its priority has been acted on
    already.
    """
    return {
        field: value
        for field, value in given.items()
        if field != "priority"
        and (field not in request.model_fields_set or getattr(request, field) is None)
    }
