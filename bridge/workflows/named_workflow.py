"""Step workflows by name or path: the project's after trust, the user's, the built-in.

Pipelines lie in the same folders: what a file holds says which of the two it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from bridge.agents.library import WORKFLOWS, Library
from bridge.agents.yaml_source import read_tree
from bridge.errors import InvalidRequest
from bridge.protocol.wording import in_shell
from bridge.workflows.reader import StepWorkflow, read_workflow

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.config import Settings

CheckAgent = Callable[[str], str | None]
Kind = Literal["pipeline", "steps"]
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


def find_workflow(
    settings: Settings,
    project: Path,
    named: str | Path,
    check_agent: CheckAgent = lambda _name: None,
    *,
    layer: str | None = None,
) -> StepWorkflow:
    """The step workflow of a name, or in a file; it may have errors.

    With a `layer` only the names of its workflows and of those below it count: no
    project changes what an agent of the user's works through, and who asks for an agent
    names no file.

    Raises:
        InvalidRequest: it does not exist, cannot be read, or is a pipeline.
        NotTrusted: the project brings it, and its user has not agreed to that.
    """
    files = Library(WORKFLOWS, settings, project)
    if layer is None:
        file = files.file_of(named)
    else:
        files = files.below(layer)
        file = files.named(str(named))
    text = files.text(file)
    if kind_of(read_tree(text, file).value) == "pipeline":
        raise InvalidRequest(
            f"{file} is a pipeline, which runs by itself: "
            f"{in_shell('hostbridge', 'run', named)}"
        )
    found = files.layer(file) or "file"
    return read_workflow(text, file, found, check_agent=check_agent)
