"""The agents that a project may ask: those with a definition, and the client's own.

One that is neither never runs, whoever names it: a program that asks, or a file that
another one dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.agents.registry import Registry
from bridge.agents.resolving import resolve
from bridge.host.agent_names import check_agent

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.agents.definition import Definition
    from bridge.config import Settings
    from bridge.protocol.request import Request
    from bridge.store.files import FileStore


@dataclass(frozen=True, slots=True)
class Agents:
    """The agents of a project; `claude_dir` is where the client has the user's own."""

    registry: Registry
    claude_dir: Path

    @classmethod
    def open(cls, settings: Settings, project: Path) -> Agents:
        """Those of a project, by its real path.

        Raises:
            NotShipped: this installation has no built-in definitions.
        """
        return cls(Registry.open(settings, project), settings.claude_dir)

    def find(self, agent: str) -> Definition | None:
        """The definition of an agent; None for one of the client's own.

        Raises:
            UnknownAgent: neither hostbridge nor the client knows it; names near ones.
            BadDefinition, NotTrusted: its definition cannot be used.
        """
        definition = self.registry.find(agent)
        if definition is None:
            self._check_client_has(agent)
        return definition

    def define(
        self, store: FileStore, request: Request
    ) -> tuple[Request, Definition | None]:
        """The request as its agent's definition has it now, and the definition.

        Raises:
            UnknownAgent, BadDefinition, NotTrusted: as `find`.
            InvalidRequest: the definition does not take such a request, or is gone.
        """
        resolved, definition = resolve(self.registry, store, request)
        if definition is None:
            self._check_client_has(request.agent_type)
        return resolved, definition

    def _check_client_has(self, agent: str) -> None:
        project = self.registry.project
        check_agent(agent, project, self.claude_dir, self.registry.names)
