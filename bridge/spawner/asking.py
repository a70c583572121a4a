"""Make a request out of what a program asks: checked before anything is written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from bridge.errors import DepthExceeded, InvalidRequest
from bridge.host import agent_names
from bridge.protocol.ids import check_id, is_id, new_request_id
from bridge.protocol.record import first_problem
from bridge.protocol.request import Request
from bridge.spawner.requester import default_requester

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.spawner.result import Shape
    from bridge.store.files import FileStore


def new_request(
    store: FileStore,
    settings: Settings,
    prompt: str,
    agent: str,
    *,
    schema: Shape,
    timeout_s: float,
    request_id: str | None = None,
    **fields: Any,
) -> Request:
    """Build a request; `fields` are those of `Request`, by their names there.

    Raises:
        UnknownAgent: nobody knows the agent.
        InvalidRequest: the schema, the prompt, the id or a number is not acceptable.
        DepthExceeded: too many agents stand above it.
    """
    agent_names.check_agent(agent, store.place.project, settings.claude_dir)
    answer_schema = None if schema is None else _checked(schema)
    parent = find_parent(store, settings)
    depth = parent[1] + 1 if parent else 0
    if depth > settings.max_depth:
        raise DepthExceeded(
            f"{depth} agents stand above this request; {settings.max_depth} is the "
            "limit (BRIDGE_MAX_DEPTH)"
        )
    if depth:
        # Its parent holds a slot while it waits.
        fields["priority"] = "high"
    now_us = store.clock.now_us()
    named = check_id(request_id) if request_id is not None else None
    try:
        return Request(
            request_id=named or new_request_id(now_us, fields["priority"]),
            agent_type=agent,
            prompt=prompt,
            timeout=_milliseconds(timeout_s),
            created_at=now_us // 1000,
            schema=answer_schema,
            requester=settings.requester or default_requester(),
            parent_request_id=parent[0] if parent else None,
            depth=depth,
            **fields,
        )
    except ValidationError as exc:
        raise InvalidRequest(first_problem(exc)) from None


def find_parent(store: FileStore, settings: Settings) -> tuple[str, int] | None:
    """The request of the agent that started us, and its depth.

    An agent in a session did it by a Bash call that hooks saw; one of `claude -p`
    is told by the environment.
    """
    parent = None
    if settings.parent_request is not None and is_id(settings.parent_request):
        parent = settings.parent_request, settings.parent_depth
    if settings.host_pid is None:
        return parent
    from bridge.host import runs

    return runs.running_bash_depth(store, settings.host_pid) or parent


def _checked(shape: Shape) -> dict[str, Any] | None:
    """The JSON Schema of a shape, itself checked."""
    from bridge.protocol.json_schema import problem_of_schema
    from bridge.protocol.keywords import constrains_nothing, slips
    from bridge.spawner.result import schema_of

    schema = schema_of(shape)
    if schema is None:
        return None
    problem = problem_of_schema(schema)
    if problem:
        raise InvalidRequest(f"the schema is not a JSON Schema: {problem}")
    if constrains_nothing(schema):
        raise InvalidRequest(f"the schema allows anything: {next(slips(schema))}")
    return schema


def _milliseconds(timeout_s: float) -> int:
    if not 0 < timeout_s < math.inf:
        raise InvalidRequest(
            f"timeout {timeout_s:g}: expected seconds, more than 0 and not for ever"
        )
    return max(1, int(timeout_s * 1000))
