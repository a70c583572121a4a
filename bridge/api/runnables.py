"""A step workflow that is run by its name: an agent goes through it, in a pipeline.

    hostbridge run task-expansion --param task=#42

is a pipeline of one agent, which has the workflow, and of a look at the task after it.
So it is followed, answered, resumed and shown as every other run.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge.agents.workflow_choice import name_of
from bridge.errors import BridgeError, InvalidRequest
from bridge.protocol import plain_json
from bridge.protocol.names import GENERAL, OF_TASK

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from bridge.agents.definition import Definition
    from bridge.agents.known_agents import Agents
    from bridge.agents.library import Library
    from bridge.workflows.reader import StepWorkflow

# What the task is called that a workflow is run for.
TASK = OF_TASK[0]


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
