"""What can be run, compiled: a flow, a pipeline, a step workflow, by path or name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.api.flow_files import NAMED, Flows
from bridge.errors import InvalidRequest
from bridge.flow.problems import near

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.config import Settings
    from bridge.engine.view import RunView
    from bridge.flow.plan import Plan

# As `bridge.pipelines.workflow_files` has them, which loads more.
WORKFLOW_SUFFIXES = (".yaml", ".yml")


def compiled(
    settings: Settings,
    project: Path,
    named: str | Path,
    params: Mapping[str, Any],
    *,
    for_model: bool = False,
) -> tuple[Plan, str]:
    """The plan of a flow, a pipeline or a step workflow, and its file.

    What a pipeline is given is checked when its run begins. A path that is given
    `for_model` is one in the project.

    Raises:
        InvalidFlow, InvalidWorkflow: with every error in it.
        InvalidRequest: there is none; or a parameter is missing or unknown.
        NotTrusted: the project brings it, and its user has not agreed to that.
    """
    flows = Flows(settings, project, for_model=for_model)
    if is_pipeline(flows, named):
        from bridge.api.pipeline_files import Pipelines  # with all of pydantic

        return Pipelines(settings, project).compiled(named, params)
    _name_a_workflow(flows, named)
    for name, value in params.items():
        if not isinstance(value, str):
            raise InvalidRequest(
                f"parameter {name!r}: a flow takes texts, got {value!r:.40}"
            )
    return flows.compiled(named, params)


def is_pipeline(flows: Flows, named: str | Path) -> bool:
    """Whether a pipeline is meant, not a flow: a YAML file, or a name of a workflow.

    A flow of the same name comes first.
    """
    if Path(named).suffix in WORKFLOW_SUFFIXES and NAMED.fullmatch(str(named)):
        return True
    if isinstance(named, Path) or not NAMED.fullmatch(named):
        return False
    if named in flows.names():
        return False
    from bridge.pipelines.workflow_files import WorkflowFiles

    return named in WorkflowFiles(flows.settings, flows.project).names()


def _name_a_workflow(flows: Flows, named: str | Path) -> None:
    """Refuse the name of nothing that is nearly that of a workflow."""
    if isinstance(named, Path) or not NAMED.fullmatch(named):
        return
    known = flows.names()
    if named in known or near(named, known) or Path(named).is_file():
        return
    from bridge.pipelines.workflow_files import WorkflowFiles

    workflows = WorkflowFiles(flows.settings, flows.project).names()
    if meant := near(named, workflows):
        raise InvalidRequest(
            f"no workflow or flow is named {named!r}{meant}; see `hostbridge workflow "
            "list` and `hostbridge flow list`"
        )


def changed_files(settings: Settings, project: Path, seen: RunView) -> list[Path]:
    """The files of a run that are not as they were when it began."""
    if Path(seen.run["source"]).suffix in WORKFLOW_SUFFIXES:
        from bridge.api.pipeline_files import Pipelines  # with all of pydantic

        return Pipelines(settings, project).changed(seen)
    return Flows(settings, project).changed(seen)
