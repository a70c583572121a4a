"""Build the request that a program asks for, checked before anything is written."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.agents.known_agents import Agents
from bridge.agents.workflow_choice import choose
from bridge.api.model_support import own_route_of
from bridge.api.routing import RouteChoice, check_route, on_route
from bridge.config import LONGEST_S, Settings
from bridge.errors import DepthExceeded, InvalidRequest
from bridge.host.output import one_line
from bridge.protocol.ids import (
    PRIORITIES,
    RequestId,
    check_id,
    is_id,
    new_request_id,
)
from bridge.protocol.record import first_problem
from bridge.protocol.request import Node, Request, RouteName
from bridge.protocol.type_checks import check
from bridge.routes import OWN, OwnRoute
from bridge.store.clock import uptime
from bridge.store.host_process import environments_above, name_of
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.agents.definition import Definition, Mode
    from bridge.host.calling_agent import Asking
    from bridge.host.session_above import Above

_MAX_REQUESTER = 60
# If we were started as one of these, our parent is the program that asks.
_OURSELVES = frozenset({"hostbridge", "__main__.py"})


class Checked(NamedTuple):
    """A request that was checked, and what was found out on the way."""

    request: Request
    definition: Definition | None
    store: Store
    agents: Agents
    is_model_asked: bool
    # The session that this process runs under.
    above: Above | None
    # How many of the asker's requests may go on at once.
    fan_out: int
    # The variables of the agent or session that asks, if one does.
    inherited: Mapping[str, Any]


class Draft(Checked):
    """A checked request that has no route yet, and its agent's definition.

    The definition is loaded once, and its templates are rendered once, whichever routes
    the request is made for, and also if this process serves it.
    """

    _applied: Request | None = None

    @cached_property
    def _found(self) -> dict[RouteName, Definition | None]:
        return {"host": self.definition}

    @property
    def routes(self) -> tuple[RouteName, ...] | None:
        """The routes that the definition accepts; None for any."""
        return self.definition.routes if self.definition else None

    def choose_route(
        self, named: str, mode: Mode | None, usual: OwnRoute | None
    ) -> RouteChoice:
        """The route of a call that names `named`, in a mode.

        The call's mode goes before its workflow's, and that before its definition's.
        `usual` is the route for what no session answers.

        Raises:
            InvalidRequest: there is no such workflow; route and mode exclude each
                other; or the agent cannot run in this mode.
        """
        route = check_route(named)
        choice = self.definition and choose(self.definition, self.request.workflow)
        by_workflow = choice.mode if choice and choice.mode != "self" else None
        # With routes of its own a definition may still prefer a process of its own.
        own = self.definition.mode if self.definition else None
        wanted = mode or by_workflow or ("headless" if own == "headless" else None)
        if mode == "self":
            raise InvalidRequest(
                "mode self acts on the conversation that calls, which a program has "
                "not; leave the mode out, or say terminal or headless"
            )
        if wanted is None or (mode is None and route != "auto"):
            return route
        if route == "auto":
            return "host" if wanted == "terminal" else self.own_route(usual)
        if (route == "host") != (wanted == "terminal"):
            raise InvalidRequest(
                f"route {route} is not mode {wanted}; name one of them"
            )
        return route

    def own_route(self, usual: OwnRoute | None) -> OwnRoute:
        """The route on which a process of its own answers.

        Raises:
            InvalidRequest: the agent runs in an open session only.
        """
        named = own_route_of(self.request.model if self.is_model_asked else None)
        if named is not None:
            return named
        definition = self.definition
        accepted = [
            route
            for route in (*(self.routes or ()), *OWN)
            if route in OWN and (definition is None or definition.takes(route))
        ]
        if not accepted:
            raise InvalidRequest(
                f"agent {self.request.agent_type!r} runs in an open session only; use "
                'mode "terminal"'
            )
        return usual if usual in accepted else accepted[0]

    def definition_on(self, route: RouteName) -> Definition | None:
        """The definition that a route needs.

        An open session needs none for an agent of Claude Code's own.

        Raises:
            UnknownAgent: the agent's prompt is not available on this route.
            BadDefinition, NotTrusted: its definition cannot be used.
        """
        if self.definition is not None and self.definition.base is None:
            return self.definition
        if route not in self._found:
            self._found[route] = self.agents.find(self.request.agent_type, route)
        return self._found[route]

    def on(self, route: RouteName) -> Request:
        """The request as a route gets it.

        Rendering now finds what is missing while the caller is still there.

        Raises:
            InvalidRequest: the route or the definition does not accept the request.
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
            variables = {**self.inherited, **request.variables}
            return request.with_(variables=variables) if self.inherited else request
        from bridge.agents.apply import applied, check_route, with_context

        if self._applied is None or definition is not self.definition:
            request = with_context(definition, request, self.store.place.project)
            self._applied = applied(definition, request, self.inherited)
        else:
            check_route(definition, route)
        return self._applied.with_(route=route)

    def define(self, held: Request) -> tuple[Request, Definition | None]:
        """A claimed request with its definition applied, and the definition.

        Raises:
            UnknownAgent, BadDefinition, NotTrusted, InvalidRequest: as `on`.
        """
        if held.request_id != self.request.request_id:
            # Found by its dedup key: another caller's.
            from bridge.engine.temporary import define

            return define(self.store, self.agents, held)
        from bridge.agents.apply import filled_in

        route = held.served_on
        return filled_in(held, self.on(route)), self.definition_on(route)


def draft(
    store: Store,
    settings: Settings,
    prompt: str,
    agent: str,
    schema: object,
    options: Mapping[str, Any],
    asking: Asking | None = None,
) -> Draft:
    """Begin a request; `options` are those of `Bridge.submit`, checked.

    `asking` says on whose behalf, by default on that of this process.

    Raises:
        UnknownAgent: there is no such agent.
        BadDefinition, NotTrusted: its definition cannot be used.
        InvalidRequest: the schema, the prompt, the node, the id or a number is not
            acceptable.
        NotYours: a model asks, and gives a variable that is not its own.
        DepthExceeded: too many agents stand above it.
    """
    from bridge.agents.known_agents import Agents

    check(prompt=prompt, agent=agent)
    if not prompt.strip():
        prompt = _prompt_of_task(store, options.get("task_id"))
    fields = {
        name: value
        for name, value in options.items()
        if name in Request.fields and name not in ("route", "request_id")
    }
    fields["node"] = _node(options.get("node"), store.place.project)
    agents = Agents.open(settings, store.place.project)
    definition = agents.find(agent)
    timeout_s = options.get("timeout_s")
    fields["answer_schema"] = _checked_schema(schema)
    fields["timeout"] = None if timeout_s is None else _milliseconds(timeout_s)
    fields = {name: value for name, value in fields.items() if value is not None}
    if definition is not None:
        from bridge.agents.apply import choices

        fields = choices(definition) | fields
    from bridge.host.calling_agent import asking_process
    from bridge.host.session_above import at_most, session_above
    from bridge.protocol.failure_codes import CURES

    if given := fields.get("variables"):
        from bridge.api.variables import check_given

        check_given(store, settings, given, is_checked=asking is not None)
    ancestors = environments_above()
    if asking is None:
        asking = asking_process(store, settings, ancestors)
    depth = asking.depth
    above = session_above(store, settings, ancestors)
    max_depth = at_most(settings, above, "max_depth")
    if depth > max_depth:
        raise DepthExceeded(
            f"{depth} agents stand above this request; {max_depth} is the "
            "limit (max_depth)",
            ways=(CURES["depth"],),
        )
    fields |= _of_asker(store, asking)
    now_us = store.clock.now_us()
    request_id = options.get("request_id")
    if request_id is not None:
        check_id(request_id)
    priority = fields.get("priority", "normal")
    if priority not in PRIORITIES:
        expected = ", ".join(PRIORITIES)
        raise InvalidRequest(f"priority {priority!r}: expected one of {expected}")
    try:
        request = Request(
            request_id=request_id or new_request_id(now_us, priority),
            agent_type=agent,
            prompt=prompt,
            created_at=now_us // 1000,
            uptime=uptime(store.clock),
            requester=settings.requester or asking.requester or _default_requester(),
            asker=None if asking.is_seen or above is None else above.session.session_id,
            parent_request_id=asking.parent,
            depth=depth,
            **fields,
        )
    except ValueError as exc:
        raise InvalidRequest(first_problem(exc)) from None
    is_model_asked = options.get("model") is not None
    fan_out = at_most(settings, above, "fan_out")
    return Draft(
        request,
        definition,
        store,
        agents,
        is_model_asked,
        above,
        fan_out,
        asking.variables,
    )


def _of_asker(store: Store, asking: Asking) -> dict[str, Any]:
    """What a request has of the agent that asks, if one does."""
    if not asking.depth:
        return {}
    # The agent holds a slot while it waits.
    fields: dict[str, Any] = {"priority": "high"}
    parent = asking.parent
    found = store.find(RequestId(parent)) if parent and is_id(parent) else None
    if found and found.request and found.request.folder:
        # Where it works, if not in the project, is where its own agents work.
        fields["folder"] = found.request.folder
    return fields


def _prompt_of_task(store: Store, task_id: str | None) -> str:
    """What a task says, for an agent that is told nothing else.

    Raises:
        InvalidRequest: no task is named; or there is no such task.
    """
    if task_id is None:
        raise InvalidRequest("the prompt is empty")
    from bridge.tasks.task_prompt import prompt_of

    return prompt_of(store, task_id)


def _default_requester() -> str:
    """The program's name and pid, such as `pytest (pid 4711)`.

    For the command line that is the program that ran it: a shell, make, a script.
    """
    program, pid = os.path.basename(sys.argv[0] or ""), os.getpid()
    if program in _OURSELVES:
        pid = os.getppid()
        program = name_of(pid) or "a program"
    if program in ("", "-c", "-m"):
        program = "python"
    return one_line(f"{program} (pid {pid})", _MAX_REQUESTER)


def _node(node: str | Node | None, project: Path) -> Node | None:
    if not isinstance(node, str):
        return node
    from bridge.nodes.lookup import find_node

    return find_node(node, project)


def _checked_schema(form: object) -> dict[str, Any] | None:
    """The JSON Schema of the form of the answer, itself checked."""
    if form is None:
        return None
    from bridge.api.result import schema_of
    from bridge.protocol.json_schema import problem_of_schema
    from bridge.protocol.keywords import constrains_nothing, misspelt_keywords

    schema = schema_of(form)
    problem = problem_of_schema(schema)
    if problem:
        raise InvalidRequest(f"the schema is not a JSON Schema: {problem}")
    if constrains_nothing(schema):
        raise InvalidRequest(
            f"the schema allows anything: {next(misspelt_keywords(schema))}"
        )
    return schema


def _milliseconds(timeout_s: float) -> int:
    if not 0 < timeout_s <= LONGEST_S:
        raise InvalidRequest(
            f"timeout_s {timeout_s:g}: expected seconds, more than 0 and at most "
            f"{LONGEST_S} (30 days)"
        )
    return max(1, int(timeout_s * 1000))
