"""The agent definitions, by name. Layers: Claude Code's < built-in < user < project.

The highest layer's file wins as a whole; nothing is merged. A definition that is broken
or not trusted still hides those below it: a request never gets an agent other than the
one it asked for. What a project brings, in `.bridge` or in `.claude`, counts only after
its user has trusted it. Looking up one name is cheap: YAML is imported only for a file
that may define it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.agents.agent_names import (
    ALL_LAYERS,
    CLIENT_LAYERS,
    OF_PROJECT,
    Layer,
    is_name,
)
from bridge.agents.files import Unreadable, read_bytes
from bridge.agents.layers import LayerFolder
from bridge.config import Settings
from bridge.errors import BadDefinition, NotTrusted
from bridge.shipped import agents_folder

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.agents.diagnostic import Diagnostic
    from bridge.agents.load import Loaded
    from bridge.agents.trust import Trust

PROJECT_FOLDER = (".bridge", "agents")


class Entry(NamedTuple):
    """One definition in the list; `hidden_by` is the file that wins over it."""

    loaded: Loaded
    is_trusted: bool
    hidden_by: Path | None = None
    changes: tuple[str, ...] = ()

    @property
    def is_used(self) -> bool:
        """Whether its name leads to it, valid or not."""
        return self.hidden_by is None


class Registry:
    """The definitions that a project sees. Reads files when asked, never before."""

    def __init__(
        self,
        folders: Mapping[Layer, Path],
        home: Path,
        project: Path,
        limits: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    ) -> None:
        self.folders = folders
        self.home = home
        self.project = project
        self._limits = limits

    @classmethod
    def open(cls, settings: Settings, project: Path) -> Registry:
        """The registry of a project, by its real path.

        Raises:
            NotShipped: this installation has no built-in definitions.
        """
        folders: dict[Layer, Path] = {
            "claude-user": settings.claude_dir / "agents",
            "claude-project": project / ".claude" / "agents",
            "built-in": agents_folder(),
            "user": settings.home / "agents",
            "project": project.joinpath(*PROJECT_FOLDER),
        }
        limits = {settings.research_agent: _limits_of_research(settings)}
        return cls(folders, settings.home, project, limits)

    def find(
        self, name: str, layers: Iterable[Layer] = ALL_LAYERS
    ) -> Definition | None:
        """The definition that wins for a name; None if there is none.

        With `LAYERS`, Claude Code's own folders do not count: a session reads those
        itself.

        Raises:
            BadDefinition: it has errors; lists them all.
            NotTrusted: it is the project's, and its user has not trusted it.
        """
        if not is_name(name):
            return None
        for folder in self._folders(layers):
            for file in folder.candidates(name):
                found = self._look(folder, file, name)
                if found is not None:
                    return found
        return None

    def entries(self) -> list[Entry]:
        """Every definition of every layer, by name; the winner comes first."""
        from dataclasses import replace

        from bridge.agents.diagnostic import Diagnostic
        from bridge.agents.load import load

        trust = self._trust()
        found: list[Entry] = []
        winners: dict[str, Loaded] = {}
        for folder in self._folders(ALL_LAYERS):
            here: dict[str, Loaded] = {}
            for listed in folder.files():
                owner, file = self._owned(folder, listed)
                loaded = load(file, owner.layer, home=self.home)
                twin = here.setdefault(loaded.name, loaded)
                if twin is not loaded and not folder.is_clients:
                    message = f"{twin.file} also defines {loaded.name!r}, and wins"
                    problem = Diagnostic(file, 1, ("name",), message)
                    problems = (*loaded.problems, problem)
                    loaded = replace(loaded, problems=problems, definition=None)
                winner = winners.setdefault(loaded.name, loaded)
                found.append(
                    Entry(
                        loaded,
                        is_trusted=not owner.is_projects or trust.covers(loaded),
                        hidden_by=None if winner is loaded else winner.file,
                        changes=trust.changes_in(loaded) if owner.is_projects else (),
                    )
                )
        order = {layer: at for at, layer in enumerate(reversed(ALL_LAYERS))}
        return sorted(found, key=lambda e: (e.loaded.name, order[e.loaded.layer]))

    def is_trusted(self, loaded: Loaded) -> bool:
        """Whether a definition may be used; only a project's needs trust."""
        return loaded.layer not in OF_PROJECT or self._trust().covers(loaded)

    def names(self) -> list[str]:
        """Every name that the heads of the files define."""
        return sorted(
            {name for folder in self._folders(ALL_LAYERS) for name, _ in folder.names()}
        )

    def client_agents(self) -> dict[str, Path]:
        """The agents in Claude Code's own folders, and their files."""
        folders = reversed(self._folders(CLIENT_LAYERS))
        return {name: file for folder in folders for name, file in folder.names()}

    def check_client_agent(self, name: str) -> None:
        """Check that the client has the agent that files of its folders define.

        Raises:
            BadDefinition: it skips each of them, or does not start the agent.
        """
        from bridge.agents.load import load

        problems: list[Diagnostic] = []
        for folder in self._folders(CLIENT_LAYERS):
            for file in folder.candidates(name):
                try:
                    data = read_bytes(file, follow_links=not folder.is_projects)
                except Unreadable:
                    return
                loaded = load(file, folder.layer, data, home=self.home)
                if loaded.name == name and not loaded.errors:
                    return
                problems += loaded.errors
        if problems:
            raise BadDefinition(name, tuple(problems))

    def layer_of(self, file: Path) -> Layer:
        """The layer of a file; one outside all folders counts as the user's."""
        for folder in self._folders(ALL_LAYERS):
            if file.parent == folder.folder or (
                folder.is_clients and file.is_relative_to(folder.folder)
            ):
                return folder.layer
        return "user"

    def _owned(self, folder: LayerFolder, file: Path) -> tuple[LayerFolder, Path]:
        """A file, and whose it is: one of the project's is that by any link."""
        real = Path(os.path.realpath(file))
        for layer in OF_PROJECT if not folder.is_projects else ():
            below = os.path.realpath(self.folders[layer])
            if real.is_relative_to(below):
                own = self.folders[layer]
                return LayerFolder(layer, own), own / real.relative_to(below)
        return folder, file

    def _folders(self, layers: Iterable[Layer]) -> list[LayerFolder]:
        """The folders of these layers, the highest first."""
        return [LayerFolder(layer, self.folders[layer]) for layer in layers][::-1]

    def _look(self, folder: LayerFolder, file: Path, name: str) -> Definition | None:
        """The definition in a file, if it has this name and may be used."""
        data: bytes | None
        folder, file = self._owned(folder, file)
        try:
            data = read_bytes(file, follow_links=not folder.is_projects)
        except Unreadable:
            if file.stem != name:
                return None
            # Going on to a lower layer would give another agent. Loading says why.
            data = None
        trust = self._trust() if folder.is_projects else None
        # Somebody else's file: no byte of it is parsed without trust.
        if trust is not None and not (data is not None and trust.admits(file, data)):
            raise NotTrusted(name, file, is_changed=trust.knows(file))
        from bridge.agents.load import load

        loaded = load(file, folder.layer, data, home=self.home)
        # The head of a broken file may have the name although the whole cannot be read.
        is_broken = file.stem != name and loaded.errors
        if loaded.name != name and not is_broken:
            return None
        if loaded.errors or loaded.definition is None:
            raise BadDefinition(name, loaded.errors)
        if trust is not None and not trust.covers(loaded):
            raise NotTrusted(name, file, is_changed=trust.knows(file))
        limits = self._limits.get(name)
        found = loaded.definition
        return found.model_copy(update=dict(limits)) if limits else found

    def _trust(self) -> Trust:
        from bridge.agents.trust import Trust

        return Trust.read(self.home, self.project)


def _limits_of_research(settings: Settings) -> dict[str, Any]:
    """What the user's settings say of the research agent, instead of its definition."""
    fields = {"research_timeout": "timeout_s", "research_max_turns": "max_turns"}
    return {
        field: getattr(settings, key)
        for key, field in fields.items()
        if key in settings.sources
    }
