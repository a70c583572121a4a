"""A checked request before it is written: its routes, and what each of them gets."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from bridge.agents.known_agents import Agents
from bridge.api.model_support import own_route_of
from bridge.api.routing import (
    Fallback,
    RouteChoice,
    RoutePlan,
    check_route,
    on_route,
    plan,
)
from bridge.bound import forks
from bridge.config import Settings
from bridge.errors import InvalidRequest
from bridge.protocol.request import Request
from bridge.routes import OWN, REMOTE, OwnRoute, RouteName
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.agents.definition import Definition, Mode
    from bridge.bound.session_above import Above


class Checked(NamedTuple):
    """A request that was checked, and what was found out on the way."""

    request: Request
    definition: Definition | None
    store: Store
    settings: Settings
    agents: Agents
    is_model_asked: bool
    # The session that this process runs under.
    above: Above | None
    # How many of the asker's requests may go on at once.
    fan_out: int
    # The variables of the agent or session that asks, if one does.
    inherited: Mapping[str, Any]
    # The route of the agent that asks, if a process of ours runs it.
    asked_on: OwnRoute | None


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

    def plan(
        self,
        named: str = "auto",
        mode: Mode | None = None,
        *,
        is_served: bool = True,
        **fallback: Unpack[Fallback],
    ) -> RoutePlan:
        """The route of a call that names `named`, in a mode, and who serves it when.

        What names none goes by the route of the agent that asks, if a process of ours
        runs that, or else by `BRIDGE_CLI_FALLBACK`: only a session, if nobody here is
        to serve it.

        Raises:
            InvalidRequest: as `choose_route`, and as `routing.plan`.
        """
        usual = self.asked_on or self.settings.cli_fallback
        choice = self.choose_route(named, mode, usual)
        flag = usual if is_served else None
        return plan(choice, flag=flag, accepted=self.routes, **fallback)

    def choose_route(
        self, named: str, mode: Mode | None, usual: OwnRoute | None
    ) -> RouteChoice:
        """The route of a call that names `named`, in a mode.

        The call's mode goes before its workflow's, and that before its definition's.
        `usual` is the route for what no session answers. An agent that no session runs
        prefers none for its own agents either.

        Raises:
            InvalidRequest: there is no such workflow; route and mode exclude each
                other; or the agent cannot run in this mode.
        """
        route = check_route(named)
        is_of_session = self.request.continues or self.request.context_from
        if is_of_session and route == "auto" and mode is None:
            # Only there can it be answered; any other one is refused by name.
            return "host"
        if self.asked_on is not None and route == "auto" and mode is None:
            return route
        by_workflow = self._mode_of_workflow()
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

    def _mode_of_workflow(self) -> Mode | None:
        if self.definition is None:
            return None
        from bridge.agents.workflow_choice import choose

        choice = choose(self.definition, self.request.workflow)
        return choice.mode if choice and choice.mode != "self" else None

    @property
    def own_routes(self) -> tuple[OwnRoute, ...]:
        """The routes of our own that its definition takes, the preferred one first."""
        taken = (
            route
            for route in (*(self.routes or ()), *OWN)
            if route in OWN
            and (self.definition is None or self.definition.takes(route))
        )
        return tuple(dict.fromkeys(taken))

    def own_route(self, usual: OwnRoute | None) -> OwnRoute:
        """The route on which a process of its own answers.

        Raises:
            InvalidRequest: the agent runs in an open session only.
        """
        named = own_route_of(self.request.model if self.is_model_asked else None)
        if named is not None:
            return named
        # To another machine it goes only where somebody has said so.
        said = (usual, *(self.routes or ()))
        accepted = [r for r in self.own_routes if r != REMOTE or r in said]
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
            CannotContinue: it continues another one, whose agent cannot be asked this.
            NotShared, NoHost, InsideSession: as `session_context.checked`, of a request
                whose agent is a fork of a session's conversation.
        """
        request = self._on(route)
        if request.context_from is not None:
            from bridge.api import session_context

            return session_context.checked(self.store, self.settings, request, route)
        forks.check(request, self.settings, self.store.place)
        if request.continues is None:
            return request
        from bridge.api.follow_up import checked

        return checked(self.store, self.settings, request, route)

    def _on(self, route: RouteName) -> Request:
        definition = self.definition_on(route)
        request = on_route(self.request, route, is_model_asked=self.is_model_asked)
        if definition is None:
            if request.arguments:
                raise InvalidRequest(
                    f"agent {request.agent_type!r} has no definition here whose "
                    "template could read arguments; say it in the prompt"
                )
            if request.context:
                raise InvalidRequest(
                    f"agent {request.agent_type!r} has no definition here: nothing "
                    "would show it the change",
                    ways=("hostbridge agents new",),
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
