"""The workflows of a project, of both kinds, and what is wrong in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.agents.yaml_source import read_tree
from bridge.api.pipeline_files import Pipelines
from bridge.errors import BridgeError, NotTrusted
from bridge.pipelines.workflow_files import WorkflowFiles, kind_of
from bridge.rules.agents_named import agent_check
from bridge.workflows.reader import read_workflow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.agents.diagnostic import Diagnostic
    from bridge.config import Settings
    from bridge.pipelines.pipeline import Pipeline
    from bridge.pipelines.workflow_files import Kind


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow, and what is wrong with it.

    Attributes:
        name: what it is run or activated by.
        file: where it is.
        place: project, user, built-in, or file for one that lies elsewhere.
        kind: pipeline or steps.
        description: what it is for, in a line.
        inputs: what a pipeline takes, or the variables of a step workflow: a default
            each, and whether it has to be given.
        steps: their names, in written order.
        trusted: whether it may be used as it is.
        problems: errors and warnings at their places.
        problem: why it cannot be read at all.
        pipeline: itself, if it is one that was read.
    """

    name: str
    file: Path
    place: str
    kind: Kind = "pipeline"
    description: str = ""
    inputs: dict[str, Any] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    trusted: bool = True
    problems: tuple[Diagnostic, ...] = ()
    problem: str = ""
    pipeline: Pipeline | None = None

    @property
    def is_sound(self) -> bool:
        """Whether it has no error."""
        return not self.problem and all(p.level != "error" for p in self.problems)


class WorkflowChecks:
    """Looks at workflows; what is only looked at needs no trust."""

    def __init__(self, settings: Settings, project: Path) -> None:
        self.files = WorkflowFiles(settings, project)
        self._pipelines = Pipelines(settings, project, is_used=False)
        self._check_agent = agent_check(settings, project)

    def known(self) -> Iterator[Workflow]:
        """Every workflow that has a name."""
        for name, file in self.files.names().items():
            try:
                yield self.read(file)
            except BridgeError as error:
                place = self.files.layer(file) or "file"
                yield Workflow(name, file, place, problem=str(error))

    def read(self, file: Path) -> Workflow:
        """The workflow in a file, with its problems.

        Raises:
            InvalidRequest: there is no such file, or it is no text.
        """
        text = self.files.text(file, is_used=False)
        place = self.files.layer(file) or "file"
        is_trusted = self._is_trusted(file)
        if kind_of(read_tree(text, file).value) == "pipeline":
            pipeline = self._pipelines.read(file)
            return Workflow(
                file.stem,
                file,
                place,
                "pipeline",
                " ".join(pipeline.description.split()),
                {**pipeline.inputs},
                tuple(step.id for step in pipeline.steps),
                is_trusted,
                pipeline.problems,
                pipeline=pipeline,
            )
        found = read_workflow(text, file, place, check_agent=self._check_agent)
        variables = found.code["variables"] if found.code else {}
        return Workflow(
            file.stem,
            file,
            place,
            "steps",
            found.description,
            {name: {"default": value} for name, value in variables.items()},
            found.step_names,
            is_trusted,
            found.problems,
        )

    def _is_trusted(self, file: Path) -> bool:
        try:
            self.files.text(file)
        except NotTrusted:
            return False
        return True
