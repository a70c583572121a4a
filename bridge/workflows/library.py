"""Step workflows by name or path: the project's after trust, the user's, the built-in.

The files are those of `bridge.pipelines.workflow_files`, which both kinds share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.agents.diagnostic import Diagnostic, nearest_line
from bridge.agents.workflow_choice import name_of
from bridge.agents.yaml_source import read_tree
from bridge.errors import InvalidRequest
from bridge.flow.problems import near
from bridge.pipelines.workflow_files import WorkflowFiles, kind_of
from bridge.protocol.wording import in_shell
from bridge.workflows.reader import StepWorkflow, read_workflow

if TYPE_CHECKING:
    from bridge.agents.diagnostic import Place
    from bridge.agents.load import Loaded
    from bridge.config import Settings

CheckAgent = Callable[[str], str | None]


def find_workflow(
    settings: Settings,
    project: Path,
    named: str | Path,
    check_agent: CheckAgent = lambda _name: None,
    *,
    layer: str | None = None,
    is_used: bool = True,
) -> StepWorkflow:
    """The step workflow of a name, or in a file; it may have errors.

    With a `layer` only the names of its workflows and of those below it count: no
    project changes what an agent of the user's works through, and who asks for an agent
    names no file. One that is only looked at, not `is_used`, needs no trust.

    Raises:
        InvalidRequest: it does not exist, cannot be read, or is a pipeline.
        NotTrusted: the project brings it, and its user has not agreed to that.
    """
    files = WorkflowFiles(settings, project)
    if layer is None:
        file = files.file_of(named)
    else:
        files = files.below(layer)
        file = files.named(str(named))
    text = files.text(file, is_used=is_used)
    if kind_of(read_tree(text, file).value) == "pipeline":
        raise InvalidRequest(
            f"{file} is a pipeline, which runs by itself: "
            f"{in_shell('hostbridge', 'run', named)}"
        )
    found = files.layer(file) or "file"
    return read_workflow(text, file, found, check_agent=check_agent)


def with_named_workflows(loaded: Loaded, files: WorkflowFiles) -> Loaded:
    """An agent's file, also with a warning for each workflow that is not there."""
    definition = loaded.definition
    if definition is None:
        return loaded
    known = files.below(loaded.layer).names()
    named: dict[Place, str] = {
        ("workflows", key, "file"): choice.file
        for key, choice in definition.workflows.items()
    }
    if definition.workflow:
        named[("workflow",)] = definition.workflow
    missing = [
        Diagnostic(
            loaded.file,
            nearest_line(loaded.lines, place),
            place,
            f"there is no workflow {name_of(file)!r} yet{near(name_of(file), known)}",
            "warning",
        )
        for place, file in named.items()
        if name_of(file) not in known
    ]
    return replace(loaded, problems=(*loaded.problems, *missing))
