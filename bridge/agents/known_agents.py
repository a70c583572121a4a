"""The agents that a project may ask: those with a definition, and the client's own.

One that is neither never runs, whoever names it: a program that asks, or a file that
another one dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.agents.client_agents import check_agent, check_away
from bridge.agents.registry import Registry
from bridge.agents.resolve import resolve

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.agents.definition import Definition
    from bridge.config import Settings
    from bridge.protocol.request import Request, RouteName
    from bridge.store.store import Store


@dataclass(frozen=True, slots=True)
class Agents:
    """The agents of a project."""

    registry: Registry

    @classmethod
    def open(cls, settings: Settings, project: Path) -> Agents:
        """Those of a project, by its real path.

        Raises:
            NotShipped: this installation has no built-in definitions.
        """
        return cls(Registry.open(settings, project))

    def find(self, agent: str) -> Definition | None:
        """The definition of ours; None for an agent that Claude Code itself knows.

        Raises:
            UnknownAgent: neither hostbridge nor the client knows it; names near ones.
            BadDefinition, NotTrusted: its definition cannot be used.
        """
        definition = self.registry.find_own(agent)
        if definition is None:
            check_agent(agent, self.registry)
        return definition

    def find_on(self, agent: str, route: RouteName) -> Definition | None:
        """The definition that a route needs; None for an agent that needs none there.

        An open session has the words of the client's agents. Every other route has
        only what is read here: nothing runs without its definition.

        Raises:
            UnknownAgent: nobody knows it, or its words are not to be had on this route.
            BadDefinition, NotTrusted: its definition cannot be used.
        """
        if route == "host":
            return self.find(agent)
        definition = self.registry.find(agent)
        if definition is None:
            check_away(agent, route, self.registry)
        return definition

    def define(
        self, store: Store, request: Request
    ) -> tuple[Request, Definition | None]:
        """The request as its agent's definition has it now, and the definition.

        Raises:
            UnknownAgent, BadDefinition, NotTrusted: as `find_on`.
            InvalidRequest: the definition does not take such a request, or is gone.
        """
        definition = self.find_on(request.agent_type, request.served_on)
        return resolve(definition, store, request), definition
