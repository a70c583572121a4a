"""What can be run, compiled: a flow, a pipeline, a step workflow, by path or name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.agents.library import FLOWS, WORKFLOWS, Library, unknown
from bridge.api.flow_files import NAMED, Flows
from bridge.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.agents.library import Kind
    from bridge.config import Settings
    from bridge.engine.view import RunView
    from bridge.flow.plan import Plan

# Of one name a flow comes first.
_KINDS = (FLOWS, WORKFLOWS)


def compiled(
    settings: Settings,
    project: Path,
    named: str | Path,
    params: Mapping[str, Any],
    *,
    for_model: bool = False,
) -> tuple[Plan, str]:
    """The plan of a flow, a pipeline or a step workflow, and its file.

    What a pipeline is given is checked when its run begins. `for_model`, the path of a
    flow is one in the project, and a workflow, which starts programs, has a name.

    Raises:
        InvalidFlow, InvalidWorkflow: with every error in it.
        InvalidRequest: there is none; or a parameter is missing or unknown.
        NotTrusted: the project brings it, and its user has not agreed to that.
    """
    if _kind_of(settings, project, named) is WORKFLOWS:
        from bridge.api.pipeline_files import Workflows  # with all of pydantic

        known = Library(WORKFLOWS, settings, project).names()
        if for_model and str(named) not in known:
            raise InvalidRequest(
                f"{named}: a model runs workflows by their names alone"
            )
        return Workflows(settings, project).compiled(named, params)
    for name, value in params.items():
        if not isinstance(value, str):
            raise InvalidRequest(
                f"parameter {name!r}: a flow takes texts, got {value!r:.40}"
            )
    return Flows(settings, project, for_model=for_model).compiled(named, params)


def _kind_of(settings: Settings, project: Path, named: str | Path) -> Kind:
    """Whether a flow is meant, also by its text, or a workflow.

    Raises:
        InvalidRequest: nothing has that name; says which are similar.
    """
    path, is_path = Path(named), isinstance(named, Path)
    if not is_path and not NAMED.fullmatch(str(named)):
        return FLOWS
    for kind in _KINDS:
        if path.suffix in kind.suffixes:
            return kind
    libraries = [Library(kind, settings, project) for kind in _KINDS]
    for each in libraries:
        if not is_path and named in each.names():
            return each.kind
    if is_path or path.is_file():
        return FLOWS
    raise unknown(str(named), *libraries)


def changed_files(settings: Settings, project: Path, seen: RunView) -> list[Path]:
    """The files of a run that are not as they were when it began.

    The run continues with what it began with.
    """
    source = seen.run["source"]
    kind = WORKFLOWS if Path(source).suffix in WORKFLOWS.suffixes else FLOWS
    called = {name: plan["source"] for name, plan in seen.details["flows"].items()}
    return Library(kind, settings, project).changed(source, seen.run["text"], called)
