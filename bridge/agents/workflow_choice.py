"""Which step workflow an agent works through, and in which mode. Pure.

    workflows:                      keys that a call names: workflow="expansion"
      expansion: {file: task-expansion.yaml, mode: self}
    default_workflow: expansion     of a call that names none
    workflow: task-expansion        the same, of an agent with one workflow
    steps: [...]                    one in the agent's own file

A file is looked up by its name in the library of the definition's own layer, or of one
below it (`bridge.workflows.reader`). What the call says goes before what the
workflow says, and that before what the agent says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.errors import InvalidRequest
from bridge.protocol.names import OF_TASK
from bridge.protocol.request import Request, WorkflowOf
from bridge.protocol.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from bridge.agents.definition import Definition, Mode
    from bridge.config import Settings

SUFFIXES = (".yaml", ".yml")
# Settings that workflows can read, as `settings.NAME`.
OF_WORKFLOWS = (
    "research_agent", "research_timeout", "research_max_turns",
    "validation_max_iterations",
)  # fmt: skip


class Choice(NamedTuple):
    """A workflow by its name in a library; `key` is what the definition calls it.

    One that is `in_agent` stands in the file of an agent, and has that agent's name.
    """

    name: str
    key: str | None = None
    mode: Mode | None = None
    in_agent: bool = False


def choose(definition: Definition, asked: str | None = None) -> Choice | None:
    """The workflow for a call that asks for `asked`; None for none.

    Raises:
        InvalidRequest: the agent has no such workflow.
    """
    own = definition.steps
    if own is not None and asked in (None, own.agent, definition.name):
        return Choice(own.agent, in_agent=True)
    key = definition.default_workflow if asked is None else asked
    named = definition.workflow and name_of(definition.workflow)
    if key is None:
        return Choice(named) if named else None
    if (found := definition.workflows.get(key)) is not None:
        return Choice(name_of(found.file), key, found.mode)
    if named and key in (definition.workflow, named):
        return Choice(named)
    raise InvalidRequest(_no_such(definition, key))


def mode_of(
    definition: Definition | None, choice: Choice | None, asked: Mode | None
) -> Mode | None:
    """The mode that counts: the call's, then the workflow's, then the agent's."""
    by_workflow = choice.mode if choice else None
    return asked or by_workflow or (definition.mode if definition else None)


def name_of(file: str) -> str:
    """The name of a workflow's file: `task-expansion.yaml` is `task-expansion`."""
    for suffix in SUFFIXES:
        if file.endswith(suffix) and file != suffix:
            return file.removesuffix(suffix)
    return file


def workflow_of(request: Request) -> WorkflowOf | None:
    """The workflow that the agent of a request works through; None for none.

    One of Claude Code's own agents, which has no definition, takes any of the library.
    """
    if request.definition is not None:
        return request.definition.workflow
    if request.workflow is None:
        return None
    return WorkflowOf(name=name_of(request.workflow), layer="project")


def workflow_variables(
    request: Request, declared: Collection[str]
) -> Mapping[str, Any]:
    """The variables that a request gives to its workflow, of those that it declares.

    They are its arguments, its variables, and, where nobody gives one, its task's id.
    """
    task = {} if request.task_id is None else dict.fromkeys(OF_TASK, request.task_id)
    given = {**task, **request.arguments, **request.variables}
    return {name: value for name, value in given.items() if name in declared}


def workflow_settings(settings: Settings) -> dict[str, Any]:
    """The settings that workflows read, by their names."""
    return {name: getattr(settings, name) for name in OF_WORKFLOWS}


def _no_such(definition: Definition, key: str) -> str:
    from bridge.hints import did_you_mean

    known = sorted(definition.workflows)
    if not known and definition.workflow:
        known = [definition.workflow]
    if definition.steps is not None:
        known = [definition.steps.agent]
    if not known:
        return (
            f"agent {definition.name!r} has no workflows, so it cannot work through "
            f"{quoted(key)}; leave the workflow out, or ask an agent that has it"
        )
    hint = did_you_mean(key, known) or f"; it has {', '.join(known)}"
    return f"agent {definition.name!r} has no workflow {quoted(key)}{hint}"
