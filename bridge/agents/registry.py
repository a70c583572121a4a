"""Every agent definition there is, by name: built-in < user < project.

    <package>/agents/            shipped
    ~/.hostbridge/agents/        the user's
    <project>/.bridge/agents/    the project's: only once the user has trusted it

The whole file wins: nothing is merged between layers. A definition that is broken, or
not trusted, still hides those below it: a request never gets another agent than the one
that was asked for. To look for one name is cheap; nothing of YAML is imported unless a
file may be the one.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bridge.agents.naming import LAYERS, SUFFIXES, Layer, is_name, may_be
from bridge.agents.reading import Unreadable, read_bytes
from bridge.errors import BadDefinition, NotTrusted
from bridge.shipped import agents_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.agents.definition import Definition
    from bridge.agents.loading import Loaded
    from bridge.agents.trust import Trust
    from bridge.config import Settings

PROJECT_FOLDER = (".bridge", "agents")


@dataclass(frozen=True, slots=True)
class Entry:
    """One definition among all: `hidden_by` is the file that wins over it."""

    loaded: Loaded
    is_trusted: bool
    hidden_by: Path | None = None

    @property
    def is_used(self) -> bool:
        """Whether asking for its name gets it, in order or not."""
        return self.hidden_by is None


class Registry:
    """The definitions that a project sees. Reads files when asked, never before."""

    def __init__(self, folders: dict[Layer, Path], home: Path, project: Path) -> None:
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
        if not is_name(name):
            return None
        for layer in reversed(LAYERS):
            for file, data in self._candidates(layer, name):
                found = self._look(layer, file, data, name)
                if found is not None:
                    return found
        return None

    def entries(self) -> list[Entry]:
        """Every definition of every layer, by name, the one that wins first."""
        from bridge.agents.loading import load
        from bridge.agents.problem import Problem

        trust = self._trust()
        found: list[Entry] = []
        winners: dict[str, Loaded] = {}
        for layer in reversed(LAYERS):
            here: dict[str, Loaded] = {}
            for file in self._files(layer):
                loaded = load(file, layer, home=self.home)
                twin = here.setdefault(loaded.name, loaded)
                if twin is not loaded:
                    message = f"{twin.file} defines {loaded.name!r}, too, and wins"
                    problem = Problem(file, 1, ("name",), message)
                    problems = (*loaded.problems, problem)
                    loaded = replace(loaded, problems=problems, definition=None)
                winner = winners.setdefault(loaded.name, loaded)
                found.append(
                    Entry(
                        loaded,
                        is_trusted=layer != "project" or trust.covers(loaded),
                        hidden_by=None if winner is loaded else winner.file,
                    )
                )
        order = {layer: at for at, layer in enumerate(reversed(LAYERS))}
        return sorted(found, key=lambda e: (e.loaded.name, order[e.loaded.layer]))

    def is_trusted(self, loaded: Loaded) -> bool:
        """Whether a definition counts as it is; only a project's has to be trusted."""
        return loaded.layer != "project" or self._trust().covers(loaded)

    def names(self) -> list[str]:
        """Every name that something defines."""
        return sorted({entry.loaded.name for entry in self.entries()})

    def _look(
        self, layer: Layer, file: Path, data: bytes | None, name: str
    ) -> Definition | None:
        """The definition in a file, if it is the one and may be used.

        `data` is None for a file that could not be read: reading it tells why.
        """
        trust = self._trust() if layer == "project" else None
        # Before a byte of it is parsed: it is somebody else's file.
        if trust is not None and not (data is not None and trust.admits(file, data)):
            raise NotTrusted(name, file)
        from bridge.agents.loading import load

        loaded = load(file, layer, data, home=self.home)
        if loaded.name != name:
            return None
        if loaded.errors or loaded.definition is None:
            raise BadDefinition(name, loaded.errors)
        if trust is not None and not trust.covers(loaded):
            raise NotTrusted(name, file)
        return loaded.definition

    def _candidates(
        self, layer: Layer, name: str
    ) -> Iterator[tuple[Path, bytes | None]]:
        """Files that may define a name: the one that is called so first."""
        files = self._files(layer)
        for file in sorted(files, key=lambda f: (f.stem != name, files.index(f))):
            with suppress(Unreadable):
                data = read_bytes(file, follow_links=layer != "project")
                if may_be(data, file.stem, name):
                    yield file, data
                continue
            if file.stem == name:
                # It cannot even be read; to go on below would give another agent.
                yield file, None

    def _files(self, layer: Layer) -> list[Path]:
        """The definition files of a layer, in a fixed order."""
        folder = self.folders[layer]
        try:
            names = os.listdir(folder)
        except OSError:
            return []
        if layer == "project" and os.path.realpath(folder) != str(folder):
            # A link in place of the folder leads out of the project.
            return []
        order = {suffix: at for at, suffix in enumerate(SUFFIXES)}
        files = [folder / name for name in names if not name.startswith(".")]
        files = [file for file in files if file.suffix in order]
        return sorted(files, key=lambda f: (f.stem, order[f.suffix]))

    def _trust(self) -> Trust:
        from bridge.agents.trust import Trust

        return Trust.read(self.home, self.project)
