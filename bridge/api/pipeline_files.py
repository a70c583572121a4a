"""The pipelines that a project can run: found, read and compiled."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.agents.known_agents import Agents
from bridge.agents.workflow_choice import workflow_settings
from bridge.agents.yaml_source import read_tree
from bridge.errors import BridgeError, InvalidRequest
from bridge.pipelines.compiler import compile_pipeline
from bridge.pipelines.library import Library
from bridge.pipelines.problems import InvalidWorkflow
from bridge.pipelines.surroundings import Surroundings
from bridge.pipelines.workflow_files import SUFFIXES, WorkflowFiles, kind_of
from bridge.rules.agents_named import agent_check

if TYPE_CHECKING:
    from collections.abc import Collection

    from bridge.config import Settings
    from bridge.engine.view import RunView
    from bridge.flow.plan import Plan
    from bridge.pipelines.pipeline import Pipeline
    from bridge.pipelines.surroundings import Arguments


class Pipelines:
    """The pipelines of a project; those that are only looked at need no trust."""

    def __init__(
        self, settings: Settings, project: Path, *, is_used: bool = True
    ) -> None:
        self.settings = settings
        self.project = project
        self.files = WorkflowFiles(settings, project)
        self.is_used = is_used

    def is_pipeline(self, named: str | Path) -> bool:
        """Whether a pipeline is meant: the path of a YAML file, or a name."""
        path = Path(named)
        if path.suffix in SUFFIXES:
            return True
        return isinstance(named, str) and named in self.files.names()

    def read(self, file: Path) -> Pipeline:
        """The pipeline in a file, with what is wrong in it.

        Raises:
            InvalidRequest: there is no such file, or it holds a step workflow.
            NotTrusted: the project brings it, and its user has not agreed to that.
        """
        return self._library(file).read(file.absolute())

    def compiled(
        self, named: str | Path, given: Collection[str] = ()
    ) -> tuple[Plan, str]:
        """The plan of a pipeline that has no errors, and its file.

        That of a step workflow has an agent go through it, with the parameters that are
        `given`.

        Raises:
            InvalidWorkflow: with every error in it.
            InvalidRequest, NotTrusted: as `read`.
        """
        file = self.files.file_of(named).absolute()
        if self._kind(file) == "steps":
            return self._of_steps(file, given), str(file)
        library = self._library(file)
        pipeline = library.read(file)
        if pipeline.errors:
            raise InvalidWorkflow(pipeline.errors)
        return compile_pipeline(pipeline, library.find), str(file)

    def _kind(self, file: Path) -> str:
        text = self.files.text(file, is_used=self.is_used)
        value = read_tree(text, file).value
        return kind_of(value) if isinstance(value, dict) else "pipeline"

    def _of_steps(self, file: Path, given: Collection[str]) -> Plan:
        from bridge.api.runnables import as_pipeline
        from bridge.workflows.library import find_workflow

        check_agent = agent_check(self.settings, self.project)
        workflow = find_workflow(self.settings, self.project, file, check_agent)
        agents = Agents.open(self.settings, self.project)
        text = as_pipeline(workflow, agents, self.files, given)
        library = Library(self.around(), lambda _name: file, lambda _file: text)
        plan = compile_pipeline(library.read(file))
        # Its file is the workflow's, which may change while it runs.
        plan["source"] = workflow.digest
        return plan

    def changed(self, seen: RunView) -> list[Path]:
        """The files of a run's pipelines that are not as they were when it began."""
        source, flows = seen.run["source"], seen.details["flows"]
        files = {Path(source): seen.run["text"]} if source else {}
        known = self.files.names()
        for name, plan in flows.items():
            beside = Path(source).with_name(f"{name}.yaml")
            files[known.get(name, beside)] = plan["source"]
        return [file for file, digest in files.items() if _digest(file) != digest]

    def _library(self, file: Path) -> Library:
        return Library(
            self.around(), lambda name: self._file_of(name, file), self._text
        )

    def _file_of(self, name: str, caller: Path) -> Path:
        known = self.files.names()
        if name in known:
            # Nobody's file beside the caller takes the place of one with a name.
            return known[name]
        for suffix in SUFFIXES:
            beside = caller.with_name(f"{name}{suffix}")
            if beside.is_file():
                return beside.absolute()
        raise InvalidRequest(self.files.unknown(name))

    def _text(self, file: Path) -> str:
        text = self.files.text(file, is_used=self.is_used)
        # What cannot be read as YAML is the reader's to say.
        value = read_tree(text, file).value
        if isinstance(value, dict) and kind_of(value) == "steps":
            raise InvalidRequest(
                f"{file} is a step workflow, not a pipeline: its steps have names, "
                "and an agent goes through them"
            )
        return text

    def around(self) -> Surroundings:
        """What the pipelines of this project can name."""
        agents = Agents.open(self.settings, self.project)
        return Surroundings(
            wrong_agent=agent_check(self.settings, self.project),
            answer_fields=lambda name: _answer_fields(agents, name),
            tool=_arguments_of,
            settings=tuple(workflow_settings(self.settings)),
        )


def _answer_fields(agents: Agents, name: str) -> Collection[str] | None:
    """The fields of an agent's answers, if its schema allows no others."""
    schema: dict[str, Any] | None = None
    with suppress(BridgeError):
        definition = agents.find(name)
        schema = definition.output_schema if definition else None
    if schema is None or schema.get("additionalProperties", True) is not False:
        return None
    return tuple(schema.get("properties", {}))


def _arguments_of(name: str) -> Arguments | str:
    from bridge.tasks.tool_table import find_tool

    try:
        arguments = find_tool(name).arguments.values()
    except BridgeError as error:
        return str(error)
    # Of several names any will do, which is checked when it is called.
    wanted = {
        spelt: each.is_needed and len(each.spellings) == 1
        for each in arguments
        for spelt in each.spellings
    }
    # Files that were written for other programs give it; it is ignored here.
    return wanted | {"session_id": False}


def _digest(file: Path) -> str:
    try:
        return sha256(file.read_text().removeprefix("\ufeff").encode()).hexdigest()
    except (OSError, UnicodeDecodeError):
        return ""
