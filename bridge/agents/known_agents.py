"""The agents that a project can ask: those with a definition, and the client's own.

No other agent runs, whether a program asks for it or drops a file that names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.agents.apply import resolve
from bridge.agents.client_agents import check_agent, check_away
from bridge.agents.registry import Registry

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
        """The agents of a project, by its real path.

        Raises:
            NotShipped: this installation has no built-in definitions.
        """
        return cls(Registry.open(settings, project))

    def find(self, agent: str) -> Definition | None:
        """Our definition; None for an agent that Claude Code itself knows.

        Raises:
            UnknownAgent: neither hostbridge nor the client knows it.
            BadDefinition, NotTrusted: its definition cannot be used.
        """
        definition = self.registry.find_own(agent)
        if definition is None:
            check_agent(agent, self.registry)
        return definition

    def find_on(self, agent: str, route: RouteName) -> Definition | None:
        """The definition that a route needs; None for an agent that needs none there.

        An open session has the prompts of the client's agents. On every other route
        nothing runs without its definition.

        Raises:
            UnknownAgent: it is unknown, or this route does not have its prompt.
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
        """The request with its agent's definition applied, and the definition.

        Raises:
            UnknownAgent, BadDefinition, NotTrusted: as `find_on`.
            InvalidRequest: as `resolve`.
        """
        definition = self.find_on(request.agent_type, request.served_on)
        return resolve(definition, store, request), definition
