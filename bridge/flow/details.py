"""What the nodes of a plan do, and where they stand in the source: read as they start.

Prompts, calls of tools and programs, with what they are given. Plain JSON; no logic.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

# A value with expressions in it, compiled: JSON, but a list is `["list", at, ...]`, a
# map `["map", at, KEY, VALUE, ...]`, and texts are what `bridge.policy.condition_text`
# makes of them. `bridge.policy.condition.evaluate` gives its value; that is data.
Template = Any


class AgentCall(TypedDict, total=False):
    """What a pipeline's agent is asked with; `arguments` is a mapping.

    Attributes:
        agent: whose name it is.
        prompt: what it is asked; may be missing where there is a task.
        task_id: the task that it is about.
        workflow: the step workflow that it is to go through.
        arguments: what that workflow, or the agent's templates, are given.
        mode: how it runs, if not as its workflow and its agent say.
        model: only where the pipeline says one.
        timeout_s: how long it may take.
        cwd: the folder where it works, if not the project: a worktree.
        schema: the form of the answer, if not that of its definition.
    """

    agent: Template
    prompt: Template
    task_id: Template
    workflow: Template
    arguments: Template
    mode: Template
    model: Template
    timeout_s: Template
    cwd: Template
    schema: Template


class PlannedToolCall(TypedDict):
    """A tool of `bridge.tasks.tool_table`; `arguments` is a mapping."""

    name: str
    arguments: Template


class ExecCall(TypedDict):
    """A program that is run, without a shell.

    Its output is `{exit_code, stdout, stderr, timed_out}`; any other exit code than 0
    is a failure.

    Attributes:
        argv: a list of texts.
        cwd: the project if missing, or a worktree of the run.
        env: a mapping, beside the clean environment of our child processes.
        timeout_s: after which its whole process group is ended.
        allow: the rules that grant it, as agents have them: `Bash(pytest [-q] *)`.
    """

    argv: Template
    cwd: NotRequired[Template]
    env: NotRequired[Template]
    timeout_s: NotRequired[Template]
    allow: list[str]


class WorktreeCall(TypedDict):
    """What is done with a worktree of the run; `arguments` is a mapping."""

    action: Literal["branch", "create", "commit", "merge", "remove"]
    arguments: Template


class ValidatorPart(TypedDict):
    """What a validator is in one request for several.

    Attributes:
        group: those with the same number can be asked together.
        prompt: what its definition tells it, but for the task.
        schema: the form of its part of the answer.
        model: the one that its definition names.
    """

    group: int
    prompt: str
    schema: dict[str, Any]
    model: str | None


class ValidatorNode(TypedDict):
    """A validator of a plan, and what is known of its definition.

    Attributes:
        node: the step that asks it.
        mustVerify: it must show evidence of a command that was seen to succeed.
        canRead: it can read the files of the project.
        runsCommands: it runs commands on them.
        timeoutS: how long it may take.
        part: what it is in a request for several; missing if it is asked alone.
        alone: why it is, where they were to be asked together.
    """

    node: str
    mustVerify: bool
    canRead: bool
    runsCommands: bool
    timeoutS: NotRequired[float]
    part: NotRequired[ValidatorPart]
    alone: NotRequired[str]


class ChangeCall(TypedDict, total=False):
    """A change that is read, and who is to look at it.

    Attributes:
        scope: what is looked at, the fields of a `bridge.change.scope.Scope`.
        folder: the project if missing, or a worktree of the run.
        since: what the same step gave that was read before the work began; what has
            not changed since is none of the work's.
        seen: what the step gave that read it for validators; whether it still is so.
        committed: it was committed since, and has failed if it is not so.
        validators: who may be chosen, by the names of their agents; missing before
            the work has begun.
        intent: what the change is meant to do, in the words of whoever asks.
        complexity: how complex the change counts; by default as it is found.
        named: whether all of the validators look at it, however complex it is.
    """

    scope: dict[str, Any]
    folder: Template
    since: Template
    seen: Template
    committed: bool
    validators: dict[str, ValidatorNode]
    intent: str
    complexity: str
    named: bool


class Detail(TypedDict, total=False):
    """What a node does, and where it stands: `line` and `column` from 1.

    Attributes:
        agent: the agent that is asked; for a temporary one, its base.
        digests: those that its definition may have, by the route; any if missing.
        own: the temporary agent, whose prompt comes before `prompt`.
        prompt: what an agent of a flow is asked, or a person at a checkpoint.
        model: only where the flow says one.
        flow: the flow or pipeline that is called.
        given: what that is given, a mapping.
        shows: what a `pass` is there for.
        depth: how many branches, guards and retries are around it.
        starts: whether it is the first of such a one.
        condition: as it is written.
        label: of a place that is jumped to, or of the jump.
        call, tool, exec, worktree, change: what a step of a pipeline does; `call` is
            an agent's.
        context: of an agent: a change as data, beside its prompt, a mapping.
        says: a step of a pipeline as it is written, in a line.
    """

    line: int
    column: int
    agent: str
    digests: list[str]
    own: str
    prompt: Template
    model: str
    flow: str
    given: Template
    shows: Literal["condition", "label", "jump", "join", "retry", "gate"]
    depth: int
    starts: bool
    condition: str
    label: str
    call: AgentCall
    tool: PlannedToolCall
    exec: ExecCall
    worktree: WorktreeCall
    change: ChangeCall
    context: Template
    says: str


class TemporaryAgent(TypedDict):
    """An agent of this flow alone; its model is sonnet where it has none."""

    base: str
    prompt: Template
    model: str | None
