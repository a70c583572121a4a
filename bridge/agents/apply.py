"""Apply a definition to a request: fill in what the caller left open.

This happens when a request is made. For one that another program dropped, it happens at
its launch.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from bridge.agents.workflow_choice import choose
from bridge.errors import InvalidRequest
from bridge.protocol.ids import RequestId, is_id
from bridge.protocol.request import Applied, Request, Reuse, WorkflowOf
from bridge.routes import REMOTE, RouteName
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.agents.definition import Definition

_FILLED_IN = (
    "model", "answer_schema", "timeout", "max_attempts", "variables", "definition",
    "context", "may_ask",
)  # fmt: skip


def resolve(definition: Definition | None, store: Store, request: Request) -> Request:
    """The request with its agent's definition applied, if it has one.

    Raises:
        InvalidRequest: it does not fit the definition, or that no longer exists.
    """
    if definition is not None:
        request = with_context(definition, request, store.place.project)
        return applied(definition, request, parent_variables(store, request))
    if request.definition is not None:
        raise InvalidRequest(
            f"the definition of agent {request.agent_type!r} is gone since it "
            "was asked; see which there are: hostbridge agents list"
        )
    return request


def with_context(definition: Definition, request: Request, project: Path) -> Request:
    """The request with the context that its definition needs.

    It is read only once, so that every route sees the same; not if the asker has read
    it. An agent that works in a folder of its own sees what has changed there.
    """
    if "change" not in definition.context or "change" in request.context:
        return request
    from bridge.change.collect import READ_S, read_change

    # At most half of the time: the agent needs the rest.
    timeout_s = min(READ_S, request.timeout / 1000 / 2)
    folder = Path(os.path.realpath(request.folder)) if request.folder else project
    change = read_change(folder, timeout_s=timeout_s)
    return request.with_(context={**request.context, **change.as_context()})


def parent_variables(store: Store, request: Request) -> dict[str, Any]:
    """The variables of the request whose agent made this one; none if unknown."""
    parent = request.parent_request_id
    if parent is None or not is_id(parent):
        return {}
    found = store.find(RequestId(parent))
    return found.request.variables if found and found.request else {}


def filled_in(held: Request, request: Request) -> Request:
    """The claimed record, with the fields that the definition filled in."""
    return held.with_(**{field: getattr(request, field) for field in _FILLED_IN})


def choices(definition: Definition) -> dict[str, Any]:
    """The fields of a request that the definition sets, by their names there."""
    timeout_s = definition.timeout_s
    fields = {
        "model": definition.model,
        "answer_schema": definition.output_schema,
        "timeout": None if timeout_s is None else max(1, int(timeout_s * 1000)),
        "priority": definition.priority,
        "max_attempts": definition.max_attempts,
        "may_ask": definition.allow_questions or None,
    }
    return {field: value for field, value in fields.items() if value is not None}


def applied(
    definition: Definition, request: Request, parent: Mapping[str, Any] | None = None
) -> Request:
    """The request with the definition applied, ready for its route. Pure.

    `parent` has the variables of the calling agent. In the result, `definition.prompt`
    is the agent's whole prompt, without the contract.

    Raises:
        InvalidRequest: its route, schema or arguments do not fit the definition.
    """
    # Late, as hooks import this module: it imports jinja2.
    from bridge.agents.prompt import check_arguments, render_request

    check_route(definition, request.route)
    if request.definition is None:
        # The priority is part of the id, so it is too late for that.
        left_open = {
            field: value
            for field, value in choices(definition).items()
            if field != "priority"
            and (
                field not in request.model_fields_set or getattr(request, field) is None
            )
        }
        variables = _variables(parent or {}, definition, request.variables)
        request = request.with_(**left_open, variables=variables)
    _check_schema(definition, request.answer_schema)
    check_arguments(definition, request)
    note = Applied(
        digest=definition.source.digest,
        prompt=render_request(definition, request).whole,
        subagent_type=definition.subagent_type,
        base=definition.base if request.is_temporary else None,
        workflow=workflow_for(definition, request.workflow),
        reuse=None if request.is_temporary else _reuse(definition),
    )
    return request.with_(definition=note)


def _reuse(definition: Definition) -> Reuse | None:
    """Whether an agent that has answered may be asked, and for how long."""
    bounds = definition.reuse
    if bounds is None:
        return None
    age_ms = None if bounds.age is None else int(bounds.age * 1000)
    return Reuse(questions=bounds.questions, age=age_ms)


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


def check_route(definition: Definition, route: RouteName) -> None:
    """Check that a definition can run on this route.

    Raises:
        InvalidRequest: it takes other routes.
    """
    if not definition.takes(route):
        others = (r for r in get_args(RouteName) if r != REMOTE and definition.takes(r))
        known = dict.fromkeys((*definition.routes, *others))
        raise InvalidRequest(
            f"agent {definition.name!r} does not take the route {route}; it takes "
            f"{' or '.join(known)}"
        )


def workflow_for(definition: Definition, asked: str | None) -> WorkflowOf | None:
    """The workflow that the agent works through; it is read when that begins.

    `asked` is what the call names.

    Raises:
        InvalidRequest: the agent has no such workflow.
    """
    choice = choose(definition, asked)
    if choice is None:
        return None
    own = definition.steps if choice.in_agent else None
    layer = own.layer if own else definition.source.layer
    # Claude Code's own agents have no library of ours.
    return WorkflowOf(
        name=choice.name,
        layer=layer if layer in ("built-in", "user", "project") else "user",
        in_agent=choice.in_agent,
    )


def _check_schema(definition: Definition, schema: Mapping[str, Any] | None) -> None:
    # With script tools our own loop sees what runs, and needs no claim.
    if not definition.require_verified_evidence or definition.script_tools:
        return
    if schema is not None and "evidence" not in (schema.get("properties") or {}):
        raise InvalidRequest(
            f"agent {definition.name!r} must show evidence, but the requested schema "
            "has no property `evidence`; add it, or ask without a schema"
        )
