"""Files that have a name in three layers: flows, and workflows of both kinds.

    <project>/.bridge/FOLDER/NAME.SUFFIX    after `hostbridge trust`
    ~/.hostbridge/FOLDER/NAME.SUFFIX
    built in

The first file of a name counts. Which of the project's are used, its user decides.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.agents.agent_names import LAYERS, OwnLayer
from bridge.agents.files import Unreadable, place_in, read_bytes
from bridge.agents.trust import Trust
from bridge.errors import NotTrusted
from bridge.hints import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.config import Settings


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A file of a project, as `hostbridge trust` records it."""

    file: Path
    data: bytes

    @property
    def digests(self) -> dict[Path, str]:
        """The SHA-256 of the file."""
        return {self.file: hashlib.sha256(self.data).hexdigest()}


class NamedFiles(ABC):
    """The files of one kind that a project can use.

    Attributes:
        what: what such a file is called.
        folder: the name of their folder in each layer.
        suffixes: those of their files; the first is that of a new one.
        folders: the folder of each layer, the first that counts first.
    """

    what: str
    folder: str
    suffixes: tuple[str, ...]

    def __init__(self, settings: Settings, project: Path) -> None:
        self.settings = settings
        self.project = project
        self.trust = Trust.read(settings.home, project)
        self.folders: dict[OwnLayer, Path] = {
            "project": project / ".bridge" / self.folder,
            "user": settings.home / self.folder,
        }
        if (shipped := self.shipped()) is not None:
            self.folders["built-in"] = shipped

    @abstractmethod
    def shipped(self) -> Path | None:
        """The folder of the built-in ones, if this installation has one."""

    def names(self) -> dict[str, Path]:
        """Every file that has a name, the first of each."""
        found: dict[str, Path] = {}
        for folder in self.folders.values():
            for file in self._files_in(folder):
                found.setdefault(file.stem, file)
        return dict(sorted(found.items()))

    def layer(self, file: Path) -> OwnLayer | None:
        """Whose folder a file is in; None for one that lies elsewhere.

        One that a link leads to in the project's folder is the project's.
        """
        owners = (each for each in reversed(LAYERS) if each in self.folders)
        return next((e for e in owners if place_in(self.folders[e], file)), None)

    def in_project(self, file: Path) -> Path | None:
        """Where in the project's folder a file lies, by whatever links."""
        return place_in(self.project / ".bridge" / self.folder, file)

    def of_project(self) -> tuple[list[ProjectFile], list[Unreadable]]:
        """The files that the project brings, and why others cannot be trusted."""
        found, wrong = [], []
        for file in self._files_in(self.folders["project"]):
            try:
                found.append(ProjectFile(file, read_bytes(file, follow_links=False)))
            except Unreadable as exc:
                wrong.append(exc)
        return found, wrong

    def check_trust(self, own: Path | None, data: bytes) -> None:
        """Check that a file of the project, if it is one, was trusted as it is.

        Raises:
            NotTrusted: the project brings it, and its user has not agreed to that.
        """
        if own is not None and not self.trust.admits(own, data):
            is_changed = self.trust.knows(own)
            raise NotTrusted(own.stem, own, is_changed=is_changed, what=self.what)

    def unknown(self, name: str) -> str:
        """That nothing has this name; similar names, and where it could be put."""
        paths = [Path(f"{name}{each}") for each in self.suffixes if Path(name).name]
        beside = [each for each in paths if each.is_file()]
        hint = did_you_mean(name, self.names())
        if beside:
            here = beside[-1] if beside[-1].is_absolute() else f"./{beside[-1]}"
            hint = f"; did you mean {here}?"
        return (
            f"no {self.what} is named {name!r}{hint}; give the path of one, put it "
            f"into {self.folders['user']}/{name}{self.suffixes[0]}, or see `hostbridge "
            f"{self.what} list`"
        )

    def _files_in(self, folder: Path) -> Iterator[Path]:
        """The files, by name; also what is not a plain file, which is refused later."""
        if not folder.is_dir():
            return
        for file in sorted(folder.iterdir()):
            if file.suffix in self.suffixes and not file.is_dir():
                yield file
