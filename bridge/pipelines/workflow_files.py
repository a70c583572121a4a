"""The files of workflows, of both kinds, and the one that a name or a path means.

A file is read whole and once: what was trusted is what is parsed. A link, a pipe or a
file that is too large is refused, and a project's file that has changed since its user
agreed to it is not used.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from bridge.agents.agent_names import LAYERS
from bridge.agents.files import Unreadable, read_bytes
from bridge.agents.named_files import NamedFiles
from bridge.errors import InvalidRequest
from bridge.flow.problems import near
from bridge.shipped import workflows_folder

Kind = Literal["pipeline", "steps"]
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


class WorkflowFiles(NamedFiles):
    """The workflow files that a project can use."""

    what = "workflow"
    folder = "workflows"
    suffixes = SUFFIXES

    def shipped(self) -> Path | None:
        """The folder of the built-in ones, if this installation has one."""
        return workflows_folder()

    def below(self, layer: str) -> WorkflowFiles:
        """What an agent of this layer finds: the layer's own files, and those below.

        An agent of Claude Code's finds the user's, since it has no library of ours.
        """
        lower = WorkflowFiles(self.settings, self.project)
        layers: list[str] = [*reversed(LAYERS)]
        for above in layers[: layers.index(layer) if layer in layers else 1]:
            lower.folders.pop(above, None)  # type: ignore[call-overload]
        return lower

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

    def text(self, file: Path, *, is_used: bool = True) -> str:
        """The text of a workflow.

        One that is only looked at, not `is_used`, needs no trust.

        Raises:
            InvalidRequest: it is not there, no plain file, too large, or not UTF-8.
            NotTrusted: the project brings it, and its user has not agreed to that.
        """
        own = self.in_project(file)
        try:
            data = read_bytes(own or file, follow_links=own is None)
        except Unreadable as exc:
            raise InvalidRequest(str(exc)) from None
        if is_used:
            self.check_trust(own, data)
        try:
            return data.decode().removeprefix("\ufeff")
        except UnicodeDecodeError as exc:
            raise InvalidRequest(f"{file}: not UTF-8 at offset {exc.start}") from None
