"""Make a request out of what a program asks: checked before anything is written."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.api.requester import default_requester
from bridge.api.routing import on_route
from bridge.api.type_checks import check_seconds, check_text
from bridge.errors import DepthExceeded, InvalidRequest
from bridge.protocol.ids import PRIORITIES, check_id, new_request_id
from bridge.protocol.record import first_problem
from bridge.protocol.request import Request
from bridge.store.clock import uptime

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.agents.definition import Definition
    from bridge.agents.known_agents import Agents
    from bridge.api.result import Shape
    from bridge.config import Settings
    from bridge.protocol.ids import Priority
    from bridge.protocol.request import Node, RouteName
    from bridge.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a program asks, in its own words: the arguments of `Bridge.submit`.

    What is None was not asked for: the agent's definition says it, or the default.
    What `Request` calls by the same name becomes that field of it.
    """

    prompt: str
    agent: str
    schema: Shape
    timeout_s: float | None
    model: str | None
    priority: Priority | None
    arguments: dict[str, Any] | None
    node: str | Node | None
    variables: dict[str, Any] | None
    task_id: str | None
    dedup_key: str | None
    session: str | None
    answer_to_host: bool
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A request that is checked and has no route yet.

    `definition` is its agent's where that is ours; Claude Code's own agents have one
    only on the routes that lack their words. `is_model_asked` tells that the asker
    named the model, and not the definition.
    """

    request: Request
    definition: Definition | None
    store: Store
    is_model_asked: bool
    agents: Agents

    @property
    def routes(self) -> tuple[RouteName, ...] | None:
        """The routes that may answer it; None for any."""
        return self.definition.routes if self.definition else None

    def definition_on(self, route: RouteName) -> Definition | None:
        """The definition that a route needs.

        Raises:
            UnknownAgent: the agent's words are not to be had on this route.
            BadDefinition, NotTrusted: its definition cannot be used.
        """
        if self.definition is not None:
            return self.definition
        return self.agents.find_on(self.request.agent_type, route)

    def on(self, route: RouteName) -> Request:
        """The request, as those who serve this route will find it.

        What its agent is told is settled when it is served; to fill in the prompt
        already here finds what is missing while the asker is there.

        Raises:
            InvalidRequest: the route, or the definition, takes no such request.
            UnknownAgent, BadDefinition, NotTrusted: as `definition_on`.
        """
        definition = self.definition_on(route)
        request = on_route(self.request, route, is_model_asked=self.is_model_asked)
        if definition is None:
            if request.arguments:
                raise InvalidRequest(
                    f"agent {request.agent_type!r} has no definition here whose "
                    "template could read arguments; say it in the prompt"
                )
            return request
        from bridge.agents.apply import applied
        from bridge.agents.resolve import parent_variables, with_context

        request = with_context(definition, request, self.store.place.project)
        return applied(definition, request, parent_variables(self.store, request))


def draft(store: Store, settings: Settings, question: Question) -> Draft:
    """Begin a request.

    Raises:
        UnknownAgent: nobody knows the agent.
        BadDefinition, NotTrusted: its definition cannot be used.
        InvalidRequest: the schema, the prompt, the node, the id or a number is not
            acceptable.
        DepthExceeded: too many agents stand above it.
    """
    from bridge.agents.known_agents import Agents

    check_text("prompt", question.prompt)
    check_text("agent", question.agent)
    fields = {
        field.name: getattr(question, field.name)
        for field in dataclasses.fields(question)
        if field.name in Request.model_fields
    }
    prompt, named = fields.pop("prompt"), fields.pop("request_id")
    fields["node"] = _node(question.node, store.place.project)
    agents = Agents.open(settings, store.place.project)
    definition = agents.find(question.agent)
    schema, timeout_s = question.schema, question.timeout_s
    fields["answer_schema"] = None if schema is None else _checked(schema)
    fields["timeout"] = None if timeout_s is None else _milliseconds(timeout_s)
    if definition is not None:
        from bridge.agents.apply import choices

        fields = choices(definition) | _given(fields)
    from bridge.host.calling_agent import find_parent

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
    if named is not None:
        check_id(named)
    fields = _given(fields)
    priority = fields.get("priority", "normal")
    if priority not in PRIORITIES:
        expected = ", ".join(PRIORITIES)
        raise InvalidRequest(f"priority {priority!r}: expected one of {expected}")
    try:
        request = Request(
            request_id=named or new_request_id(now_us, priority),
            agent_type=question.agent,
            prompt=prompt,
            created_at=now_us // 1000,
            uptime=uptime(store.clock),
            requester=settings.requester or default_requester(),
            parent_request_id=parent[0] if parent else None,
            depth=depth,
            **fields,
        )
    except ValueError as exc:
        raise InvalidRequest(first_problem(exc)) from None
    return Draft(request, definition, store, question.model is not None, agents)


def _node(node: str | Node | None, project: Path) -> Node | None:
    if not isinstance(node, str):
        return node
    from bridge.nodes.lookup import find_node

    return find_node(node, project)


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _checked(shape: Shape) -> dict[str, Any] | None:
    """The JSON Schema of a shape, itself checked."""
    from bridge.api.result import schema_of
    from bridge.protocol.json_schema import problem_of_schema
    from bridge.protocol.keywords import constrains_nothing, slips

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
    if not 0 < check_seconds(timeout_s) < math.inf:
        raise InvalidRequest(
            f"timeout {timeout_s:g}: expected seconds, more than 0 and not for ever"
        )
    return max(1, int(timeout_s * 1000))
