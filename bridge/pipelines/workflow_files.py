"""Where workflows live, of both kinds, and the file that is meant by a name or a path.

<project>/.bridge/workflows/NAME.yaml    after `hostbridge trust`
~/.hostbridge/workflows/NAME.yaml
built in

A file is read whole and once: what was trusted is what is parsed. A link, a pipe or a
file that is too large is refused, and a project's file that has changed since its user
agreed to it is not used.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bridge.agents.files import Unreadable, place_in, read_bytes
from bridge.agents.trust import Trust
from bridge.errors import InvalidRequest, NotTrusted
from bridge.flow.problems import near
from bridge.shipped import workflows_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.config import Settings

Layer = Literal["project", "user", "built-in"]
# The first goes before the others.
LAYERS: tuple[Layer, ...] = ("project", "user", "built-in")
Kind = Literal["pipeline", "steps"]
OF_PROJECT = Path(".bridge", "workflows")
SUFFIXES = (".yaml", ".yml")
# What a pipeline's step does stands in it under one of these.
_PIPELINE_KEYS = frozenset({
    "exec", "tool", "mcp", "agent", "prompt", "wait", "approval", "pipeline",
    "invoke_pipeline", "worktree", "set", "fail",
})  # fmt: skip


def kind_of(value: Any) -> Kind:
    """Which kind of workflow a file holds: by its `type`, otherwise by its steps."""
    if not isinstance(value, dict):
        return "steps"
    named = value.get("type")
    if isinstance(named, str):
        return "pipeline" if named.lower() == "pipeline" else "steps"
    steps = value.get("steps")
    listed = steps if isinstance(steps, list) else ()
    found = [each for each in listed if isinstance(each, dict)]
    if any("name" in each and "id" not in each for each in found):
        return "steps"
    is_pipeline = any("id" in each or each.keys() & _PIPELINE_KEYS for each in found)
    return "pipeline" if is_pipeline or "inputs" in value else "steps"


@dataclass(frozen=True, slots=True)
class WorkflowFile:
    """A workflow of a project, as `hostbridge trust` records it."""

    file: Path
    data: bytes

    @property
    def digests(self) -> dict[Path, str]:
        """The SHA-256 of the file."""
        return {self.file: hashlib.sha256(self.data).hexdigest()}


class WorkflowFiles:
    """The workflow files that a project can use."""

    def __init__(self, settings: Settings, project: Path) -> None:
        self.settings = settings
        self.project = project
        self.trust = Trust.read(settings.home, project)
        built_in = workflows_folder()
        self.folders: dict[Layer, Path] = {
            "project": project / OF_PROJECT,
            "user": settings.home / "workflows",
        }
        if built_in is not None:
            self.folders["built-in"] = built_in

    def names(self) -> dict[str, Path]:
        """Every workflow that has a name, the first of each."""
        found: dict[str, Path] = {}
        for folder in self.folders.values():
            for file in _files_in(folder):
                found.setdefault(file.stem, file)
        return dict(sorted(found.items()))

    def layer(self, file: Path) -> Layer | None:
        """Whose folder a file is in; None for one that lies elsewhere.

        One that a link leads to in the project's folder is the project's.
        """
        owners = (each for each in LAYERS if each in self.folders)
        return next((e for e in owners if place_in(self.folders[e], file)), None)

    def below(self, layer: str) -> WorkflowFiles:
        """What an agent of this layer finds: the layer's own files, and those below.

        An agent of Claude Code's finds the user's, since it has no library of ours.
        """
        lower = WorkflowFiles(self.settings, self.project)
        layers = [*LAYERS]
        for above in layers[: layers.index(layer) if layer in layers else 1]:
            lower.folders.pop(above, None)
        return lower

    def of_project(self) -> tuple[list[WorkflowFile], list[Unreadable]]:
        """The workflows that the project brings, and why others cannot be trusted."""
        found, wrong = [], []
        for file in _files_in(self.folders["project"]):
            try:
                found.append(WorkflowFile(file, read_bytes(file, follow_links=False)))
            except Unreadable as exc:
                wrong.append(exc)
        return found, wrong

    def file_of(self, named: str | Path) -> Path:
        """The file of a workflow, by its path or its name.

        Raises:
            InvalidRequest: no workflow has that name; says which are similar.
        """
        said, path = str(named), Path(named)
        if isinstance(named, Path) or path.suffix in SUFFIXES or len(path.parts) > 1:
            return path
        known = self.names()
        if said not in known:
            raise InvalidRequest(self.unknown(said))
        return known[said]

    def named(self, name: str) -> Path:
        """The file of a workflow by its name alone.

        Raises:
            InvalidRequest: no workflow has that name; says which are similar.
        """
        known = self.names()
        if name in known:
            return known[name]
        raise InvalidRequest(
            f"no workflow is named {name!r}{near(name, known)}; an agent works through "
            f"one of the library, not of any path: put it into {self.folders['user']}"
        )

    def unknown(self, name: str) -> str:
        """That no workflow is called so, which are similar, and where one would be."""
        known, beside = self.names(), ""
        for suffix in SUFFIXES:
            if name and Path(f"{name}{suffix}").is_file():
                beside = f"; did you mean ./{name}{suffix}?"
        return (
            f"no workflow is named {name!r}{beside or near(name, known)}; give the "
            f"path of one, put it into {self.folders['user']}/{name}.yaml, or see "
            "`hostbridge workflow list`"
        )

    def text(self, file: Path, *, is_used: bool = True) -> str:
        """The text of a workflow.

        One that is only looked at, not `is_used`, needs no trust.

        Raises:
            InvalidRequest: it is not there, no plain file, too large, or not UTF-8.
            NotTrusted: the project brings it, and its user has not agreed to that.
        """
        own = place_in(self.project / OF_PROJECT, file)
        try:
            data = read_bytes(own or file, follow_links=own is None)
        except Unreadable as exc:
            raise InvalidRequest(str(exc)) from None
        if own is not None and is_used and not self.trust.admits(own, data):
            is_changed = self.trust.knows(own)
            raise NotTrusted(own.stem, own, is_changed=is_changed, what="workflow")
        try:
            return data.decode().removeprefix("\ufeff")
        except UnicodeDecodeError as exc:
            raise InvalidRequest(f"{file}: not UTF-8 at offset {exc.start}") from None


def _files_in(folder: Path) -> Iterator[Path]:
    """Workflow files, by name; what is not a plain file is there to be refused."""
    if not folder.is_dir():
        return
    for file in sorted(folder.iterdir()):
        if file.suffix in SUFFIXES and not file.is_dir():
            yield file
