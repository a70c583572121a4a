"""The workflows of a project, of both kinds: found, read, and compiled to be run."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bridge.agents.known_agents import Agents
from bridge.agents.library import WORKFLOWS, Found, Library
from bridge.agents.workflow_choice import name_of, workflow_settings
from bridge.agents.yaml_source import read_tree
from bridge.errors import BridgeError, InvalidRequest
from bridge.pipelines.compiler import compile_pipeline
from bridge.pipelines.pipeline import Surroundings
from bridge.pipelines.problems import InvalidWorkflow
from bridge.pipelines.reader import read_pipeline
from bridge.protocol import plain_json
from bridge.protocol.names import GENERAL, OF_TASK
from bridge.workflows.reader import find_workflow, kind_of, read_workflow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from bridge.agents.definition import Definition
    from bridge.config import Settings
    from bridge.flow.plan import Plan
    from bridge.pipelines.pipeline import Arguments, Pipeline
    from bridge.workflows.reader import StepWorkflow

MAX_DEPTH = 5
# What the task is called that a workflow is run for.
TASK = OF_TASK[0]


class Workflows:
    """The workflows of a project; those that are only looked at need no trust."""

    def __init__(
        self, settings: Settings, project: Path, *, is_used: bool = True
    ) -> None:
        self.settings = settings
        self.project = project
        self.files = Library(WORKFLOWS, settings, project)
        self.agents = Agents.open(settings, project)
        self.is_used = is_used

    def known(self) -> Iterator[Found]:
        """Every workflow that has a name, and what is wrong with it."""
        return self.files.look(self.look)

    def look(self, file: Path) -> Found:
        """The workflow in a file, with its problems.

        Raises:
            InvalidRequest: there is no such file, or it is no text.
            NotTrusted: it is to be used, and its user has not agreed to that.
        """
        text = self.files.text(file, is_used=self.is_used)
        layer, is_trusted = self.files.layer(file), self.files.is_trusted(file)
        kind = kind_of(read_tree(text, file).value)
        found = Found(file.stem, file, layer, kind, trusted=is_trusted)
        if kind == "pipeline":
            pipeline = _Reader(self, file).read(file.absolute())
            return replace(
                found,
                description=" ".join(pipeline.description.split()),
                inputs={**pipeline.inputs},
                steps=tuple(step.id for step in pipeline.steps),
                problems=pipeline.problems,
                content=pipeline,
            )
        check_agent = self.agents.wrong
        read = read_workflow(text, file, layer or "file", check_agent=check_agent)
        variables = read.code["variables"] if read.code else {}
        return replace(
            found,
            description=read.description,
            inputs={name: {"default": value} for name, value in variables.items()},
            steps=read.step_names,
            problems=read.problems,
            content=read,
        )

    def plan(self, file: Path) -> Plan:
        """The plan of a pipeline that is drawn: what it calls may be elsewhere.

        Raises:
            InvalidWorkflow: with every error in it.
            InvalidRequest: as `look`; or it is a step workflow.
        """
        found = self.look(file)
        if found.kind != "pipeline":
            raise InvalidRequest(
                f"{file} is a step workflow: its conditions decide which step is next; "
                f"see: hostbridge workflow show {found.name}"
            )
        if found.errors:
            raise InvalidWorkflow(found.errors)
        return compile_pipeline(found.content)

    def compiled(
        self, named: str | Path, given: Collection[str] = ()
    ) -> tuple[Plan, str]:
        """The plan of a pipeline that has no errors, and its file.

        That of a step workflow has an agent go through it, with the parameters that are
        `given`.

        Raises:
            InvalidWorkflow: with every error in it.
            InvalidRequest: there is no such file, or it is no text.
            NotTrusted: the project brings it, and its user has not agreed to that.
        """
        file = self.files.file_of(named).absolute()
        value = read_tree(self.files.text(file, is_used=self.is_used), file).value
        if kind_of(value) == "steps":
            return self._of_steps(file, given), str(file)
        reader = _Reader(self, file)
        pipeline = reader.read(file)
        if pipeline.errors:
            raise InvalidWorkflow(pipeline.errors)
        return compile_pipeline(pipeline, reader.find), str(file)

    def _of_steps(self, file: Path, given: Collection[str]) -> Plan:
        from bridge.api.pipeline_files import as_pipeline

        workflow = find_workflow(self.settings, self.project, file, self.agents.wrong)
        text = as_pipeline(workflow, self.agents, self.files, given)
        plan = compile_pipeline(read_pipeline(text, file, self.around()))
        # Its file is the workflow's, which may change while it runs.
        plan["source"] = workflow.digest
        return plan

    def text(self, file: Path) -> str:
        """The text of a pipeline.

        Raises:
            InvalidRequest: there is no such file, or it holds a step workflow.
            NotTrusted: the project brings it, and its user has not agreed to that.
        """
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
        return Surroundings(
            wrong_agent=self.agents.wrong,
            answer_fields=lambda name: _answer_fields(self.agents, name),
            tool=_arguments_of,
            settings=tuple(workflow_settings(self.settings)),
        )


class _Reader:
    """Reads a pipeline, and those that it calls, each once."""

    def __init__(self, workflows: Workflows, caller: Path) -> None:
        self._workflows = workflows
        self._caller = caller
        self._around = replace(workflows.around(), find_pipeline=self.find)
        self._known: dict[str, Pipeline | str] = {}
        self._depths: dict[str, int] = {}
        # Those that are being read, the first around the others.
        self._open: list[str] = []

    def find(self, name: str) -> Pipeline | str:
        """The pipeline of a name, or why no step can call it."""
        if name in self._open:
            path = " > ".join([*self._open[self._open.index(name) :], name])
            return (
                f"pipelines that call each other never end: {path}; to go round "
                "again: repeat: {from: STEP, while: CONDITION, max: N}"
            )
        if name not in self._known:
            self._known[name] = self._look(name)
        if len(self._open) + self._depths.get(name, 1) > MAX_DEPTH:
            path = " > ".join([*self._open, name])
            return f"pipelines call each other {MAX_DEPTH} deep at most: {path}"
        return self._known[name]

    def _look(self, name: str) -> Pipeline | str:
        try:
            file = self._workflows.files.called(name, self._caller)
            found = self.read(file.absolute(), name)
        except BridgeError as error:
            return f"pipeline {name!r} cannot be called: {error}"
        if not found.errors:
            return found
        wrong = "; ".join(str(replace(each, quoted="")) for each in found.errors[:3])
        return f"pipeline {name!r} cannot be called: {wrong}"

    def read(self, file: Path, name: str = "") -> Pipeline:
        """The pipeline in a file, with its problems; raises as `Workflows.text`."""
        name = name or file.stem
        text = self._workflows.text(file)
        self._open.append(name)
        try:
            found = read_pipeline(text, file, self._around)
        finally:
            self._open.pop()
        called = (step.detail.get("flow", "") for step in found.steps)
        self._depths[name] = 1 + max(
            (self._depths.get(c, 0) for c in called), default=0
        )
        return found


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


def as_pipeline(
    workflow: StepWorkflow,
    agents: Agents,
    files: Library,
    given: Collection[str] = (),
) -> str:
    """The text of the pipeline that has an agent go through a workflow.

    `given` are the parameters that it will get: only those are handed on, so that the
    others stay the agent's to set.

    Raises:
        InvalidWorkflow: the workflow has errors.
        InvalidRequest: as `agent_for`.
    """
    code = workflow.compiled()
    declared = code["variables"]
    is_about_a_task = any(name in declared for name in OF_TASK)
    free = [n for n in declared if n not in OF_TASK and code["owners"].get(n) != "tool"]
    agent, key = agent_for(workflow, agents, files)
    task = {TASK: {"type": "task", "description": "The task, such as #42"}}
    inputs: dict[str, Any] = {
        **(task if is_about_a_task else {}),
        **{name: {"required": False, "default": declared[name]} for name in free},
    }
    work: dict[str, Any] = {"id": "work", "agent": agent, "workflow": key}
    if handed := [name for name in free if name in given]:
        work["arguments"] = {name: f"${{{{ inputs.{name} }}}}" for name in handed}
    steps = [work]
    outputs = {"answer": "${{ steps.work.output }}"}
    if is_about_a_task:
        inputs[TASK]["required"] = True
        this = f"${{{{ inputs.{TASK} }}}}"
        work["task_id"] = this
        steps += [
            {"id": "task", "tool": "get_task", "arguments": {"task_id": this}},
            {"id": "subtasks", "tool": "list_tasks", "arguments": {"parent": this}},
        ]
        outputs |= {
            "task": "${{ steps.task.output }}",
            "subtasks": "${{ steps.subtasks.output.tasks }}",
        }
    else:
        work["prompt"] = workflow.description or f"Go through {workflow.name}."
    text = plain_json.dumps({
        "name": workflow.name,
        "type": "pipeline",
        "description": workflow.description,
        "inputs": inputs,
        "steps": steps,
        "outputs": outputs,
    })  # fmt: skip
    return text.decode()


def agent_for(
    workflow: StepWorkflow, agents: Agents, files: Library
) -> tuple[str, str]:
    """The agent that has a workflow, and what it calls it; else general-purpose.

    Raises:
        InvalidRequest: an agent would find another workflow under this name, or none.
    """
    name, file = workflow.file.stem, workflow.file
    others: list[tuple[str, Path]] = []
    for each in agents.registry.names():
        with suppress(BridgeError):
            definition = agents.registry.find(each)
            if definition is None:
                continue
            found = files.below(definition.source.layer).names().get(name)
            if found is None or (key := _key_of(definition, name)) is None:
                continue
            if _is_same(found, file):
                return each, key
            others.append((each, found))
    known = files.names().get(name)
    if known is None or not _is_same(known, file):
        raise InvalidRequest(
            f"an agent goes through a workflow of the library, not of any path: put "
            f"{file} into {files.folders['user']}, under a name that is still free"
        )
    if others:
        agent, theirs = others[0]
        raise InvalidRequest(
            f"agent {agent!r} would go through {theirs}, not {file}: copy its "
            f"definition into {agents.registry.home / 'agents'}, too (`hostbridge "
            f"agents show {agent}` says where it is), or give the workflow another name"
        )
    return GENERAL, name


def _key_of(definition: Definition, name: str) -> str | None:
    """What an agent calls the workflow of this name; None if it has none."""
    for key, choice in definition.workflows.items():
        if name_of(choice.file) == name:
            return key
    named = definition.workflow
    return name if named and name_of(named) == name else None


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)
