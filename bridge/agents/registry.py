"""Every agent definition there is, by name: Claude Code's < built-in < user < project.

The whole file wins: nothing is merged between layers. A definition that is broken, or
not trusted, still hides those below it: a request never gets another agent than the one
that was asked for. What a project brings, in `.bridge` or in `.claude`, counts only
once its user has trusted it. To look for one name is cheap; nothing of YAML is imported
unless a file may be the one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bridge.agents.files import Unreadable, read_bytes
from bridge.agents.layers import Shelf
from bridge.agents.names import (
    ALL_LAYERS,
    CLIENT_LAYERS,
    LAYERS,
    OF_PROJECT,
    Layer,
    is_name,
)
from bridge.errors import BadDefinition, NotTrusted
from bridge.shipped import agents_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from bridge.agents.definition import Definition
    from bridge.agents.load import Loaded
    from bridge.agents.trust import Trust
    from bridge.config import Settings

PROJECT_FOLDER = (".bridge", "agents")


@dataclass(frozen=True, slots=True)
class Entry:
    """One definition among all: `hidden_by` is the file that wins over it."""

    loaded: Loaded
    is_trusted: bool
    hidden_by: Path | None = None
    changes: tuple[str, ...] = ()

    @property
    def is_used(self) -> bool:
        """Whether asking for its name gets it, in order or not."""
        return self.hidden_by is None


class Registry:
    """The definitions that a project sees. Reads files when asked, never before."""

    def __init__(
        self, folders: Mapping[Layer, Path], home: Path, project: Path
    ) -> None:
        self.folders = folders
        self.home = home
        self.project = project

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
        return cls(folders, settings.home, project)

    def find(self, name: str) -> Definition | None:
        """The definition that wins under a name; None when nothing defines it.

        Raises:
            BadDefinition: it has problems; says them all.
            NotTrusted: it is the project's, and its user has not looked at it.
        """
        return self._find(name, ALL_LAYERS)

    def find_own(self, name: str) -> Definition | None:
        """The same, without Claude Code's own folders: an open session has read those.

        Raises:
            BadDefinition, NotTrusted: as `find`.
        """
        return self._find(name, LAYERS)

    def find_clients(self, name: str) -> Definition | None:
        """The same, of Claude Code's own folders alone.

        Raises:
            BadDefinition, NotTrusted: as `find`.
        """
        return self._find(name, CLIENT_LAYERS)

    def _find(self, name: str, layers: Iterable[Layer]) -> Definition | None:
        if not is_name(name):
            return None
        for shelf in self._shelves(layers):
            for file in shelf.candidates(name):
                found = self._look(shelf, file, name)
                if found is not None:
                    return found
        return None

    def entries(self) -> list[Entry]:
        """Every definition of every layer, by name, the one that wins first."""
        from bridge.agents.diagnostic import Diagnostic
        from bridge.agents.load import load

        trust = self._trust()
        found: list[Entry] = []
        winners: dict[str, Loaded] = {}
        for shelf in self._shelves(ALL_LAYERS):
            here: dict[str, Loaded] = {}
            for file in shelf.files():
                loaded = load(file, shelf.layer, home=self.home)
                twin = here.setdefault(loaded.name, loaded)
                if twin is not loaded and not shelf.is_clients:
                    message = f"{twin.file} defines {loaded.name!r}, too, and wins"
                    problem = Diagnostic(file, 1, ("name",), message)
                    problems = (*loaded.problems, problem)
                    loaded = replace(loaded, problems=problems, definition=None)
                winner = winners.setdefault(loaded.name, loaded)
                found.append(
                    Entry(
                        loaded,
                        is_trusted=not shelf.is_projects or trust.covers(loaded),
                        hidden_by=None if winner is loaded else winner.file,
                        changes=trust.changes_in(loaded) if shelf.is_projects else (),
                    )
                )
        order = {layer: at for at, layer in enumerate(reversed(ALL_LAYERS))}
        return sorted(found, key=lambda e: (e.loaded.name, order[e.loaded.layer]))

    def is_trusted(self, loaded: Loaded) -> bool:
        """Whether a definition counts as it is; only a project's has to be trusted."""
        return loaded.layer not in OF_PROJECT or self._trust().covers(loaded)

    def names(self) -> list[str]:
        """Every name that something defines, as far as the heads of the files tell."""
        return sorted(
            {name for shelf in self._shelves(ALL_LAYERS) for name, _ in shelf.names()}
        )

    def client_agents(self) -> dict[str, Path]:
        """The agents in Claude Code's own folders, and their files."""
        shelves = reversed(self._shelves(CLIENT_LAYERS))
        return {name: file for shelf in shelves for name, file in shelf.names()}

    def layer_of(self, file: Path) -> Layer:
        """The layer that a file lies in; one that lies in none is its user's own."""
        for shelf in self._shelves(ALL_LAYERS):
            if file.parent == shelf.folder or (
                shelf.is_clients and file.is_relative_to(shelf.folder)
            ):
                return shelf.layer
        return "user"

    def _shelves(self, layers: Iterable[Layer]) -> list[Shelf]:
        """The folders there are of these layers, the one that wins first."""
        known = (layer for layer in layers if layer in self.folders)
        return [Shelf(layer, self.folders[layer]) for layer in known][::-1]

    def _look(self, shelf: Shelf, file: Path, name: str) -> Definition | None:
        """The definition in a file, if it is the one and may be used."""
        data: bytes | None
        try:
            data = read_bytes(file, follow_links=not shelf.is_projects)
        except Unreadable:
            if file.stem != name:
                return None
            # To go on below would give another agent; loading it tells why.
            data = None
        trust = self._trust() if shelf.is_projects else None
        # Before a byte of it is parsed: it is somebody else's file.
        if trust is not None and not (data is not None and trust.admits(file, data)):
            raise NotTrusted(name, file)
        from bridge.agents.load import load

        loaded = load(file, shelf.layer, data, home=self.home)
        if loaded.name != name:
            return None
        if loaded.errors or loaded.definition is None:
            raise BadDefinition(name, loaded.errors)
        if trust is not None and not trust.covers(loaded):
            raise NotTrusted(name, file)
        return loaded.definition

    def _trust(self) -> Trust:
        from bridge.agents.trust import Trust

        return Trust.read(self.home, self.project)
