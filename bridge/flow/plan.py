"""What a flow compiles to: nodes, and the edges between them. Plain JSON; no logic.

The engine advances a *run* of a plan; pipelines and step workflows compile to it, too.
`Plan.nodes` is all that it loads at each step. `Plan.details` has what is only asked
for when a node starts, or is shown, such as prompts. Both have the nodes in written
order, which is the order that "before" and "after" mean here.

How a run goes, from edges alone:

- An edge `[SOURCE, CONDITION]` carries a live or a dead token once its source has
  ended: live if the source ran and the condition holds (None always does), or dead. The
  conditions of a source are decided together, when it ends.
- A node whose edges all have a token is decided. One live token runs it; all dead skip
  it, and it sends dead ones on. A node without edges runs at once.
- *Last steps* of a node: each source with a live edge, if it is a step, or what are
  that source's own last steps, if it is a `pass`. Where a node has `since`, those that
  stand before that node in written order do not count, unless there are no others; for
  its own `back` and `fail` not even then. The words of a condition ask about them: of
  an edge that leaves a step about that step, of one that leaves a `pass` about the last
  steps of the pass. Of no steps at all none failed, and all passed.

What a condition asks for (`bridge.flow.condition`):

    passed, success   every last step ended well; of a checkpoint: the person agreed
    failed            a last step ended with an answer that says failed or blocked, or
                      with a refusal; inside a retry, or with an error
    issues            a last step says that it found some: its answer's field `issues`
    all, any          mappings with these four words, of every or of any last step
    variables         by name, what each step made, as texts get it; but a number, true
                      or false as such; nothing for what did not run
    answers           by name, the whole answers, for their fields
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict, final

# A compiled condition: what `bridge.policy.condition` reads.
Code = Any
# A value with expressions in it, compiled: JSON, but a list is `["list", at, ...]`, a
# map `["map", at, KEY, VALUE, ...]`, and texts are what `bridge.policy.condition_text`
# makes of them. `bridge.policy.condition.evaluate` gives its value; that is data.
Template = Any
# A source, and the condition of its edge.
Edge = tuple[str, Code | None]
# What each is, and where a new one goes: `bridge.engine.kinds`.
Kind = Literal[
    "agent", "approval", "call", "change", "pass", "tool", "exec", "wait", "worktree"
]
OnFailure = Literal["abort", "skip"]


class Back(TypedDict):
    """A jump back from a node, taken when it ends.

    Attributes:
        to: the node that runs again, whatever its tokens: its visit is one more.
        when: a condition, asked like that of an edge; None for always.
        max: how often it is taken before its label is reached anew from outside.
        body: the first and the last node, in written order, that start anew: what
            still runs there is cancelled, its tokens, counters and ends are forgotten.
    """

    to: str
    when: Code | None
    max: int
    body: tuple[str, str]


class Awaited(TypedDict, total=False):
    """What a `wait` waits for: one of these."""

    node: str
    nodes: list[str]
    seconds: Template
    until: Template


# `if` and `in` are words of Python, so that not all can be written as classes.
Step = TypedDict(
    "Step",
    {
        "kind": Kind,
        # The variable that it makes.
        "var": NotRequired[str],
        # Which failures are a condition's to look at, rather than the run's to fail by:
        # an answer that says failed or blocked, or any error at all.
        "caught": NotRequired[Literal["failed", "any"]],
        # Further attempts, in place of the request's own.
        "retry": NotRequired[int],
        # Last steps before this node do not count where there are others.
        "since": NotRequired[str],
        # Jumps, tried in this order; the first that is taken keeps all edges waiting.
        "back": NotRequired[list[Back]],
        # When it ends, no jump is taken and this holds, the run fails by its policy.
        "fail": NotRequired[Code],
        # Of pipelines: unless it holds, the node is skipped, its tokens dead, or live.
        "if": NotRequired[Code],
        "skip": NotRequired[Literal["dead", "pass"]],
        # It runs on the first live token; what leads only to it is cancelled.
        "any": NotRequired[bool],
        # An agent that nothing waits for: its step ends once it is asked.
        "background": NotRequired[bool],
        # What a failure is to the run, in place of its policy: `skip` goes on.
        "on_failure": NotRequired[OnFailure],
        # Of `wait`: the step whose agent is waited for, or seconds, or a time in
        # seconds since 1970 or as ISO 8601.
        "wait": NotRequired["Awaited"],
        # Of `wait` and `approval`: it fails that many seconds after it was reached.
        "deadline_s": NotRequired[Template],
        # Of pipelines: where the step, or its condition, stands, for errors.
        "at": NotRequired[str],
    },
)
_Edges = TypedDict("_Edges", {"in": list[Edge]})


class Node(Step, _Edges):
    """A node: what it is, and the edges that lead to it."""


@final
class Reference(TypedDict):
    """A variable, and the field of it that is wanted."""

    var: str
    path: list[str]


@final
class Parameter(TypedDict):
    """A parameter of the flow, and what it is where nobody gives it."""

    param: str
    default: str | None


Part = str | Reference | Parameter


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


class ToolCall(TypedDict):
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
        intent: what the change is meant to do, in the words of who asks.
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


class Input(TypedDict, total=False):
    """An input of a pipeline; without a `default` it is null, if not `required`."""

    type: Literal[
        "string", "task", "integer", "number", "boolean", "array", "object", "any"
    ]
    required: bool
    default: Any
    description: str


class Detail(TypedDict, total=False):
    """What a node does, and where it stands: `line` and `column` from 1.

    Attributes:
        agent: the agent that is asked; for a temporary one, its base.
        digests: those that its definition may have, by the route; any if missing.
        own: the temporary agent, whose prompt comes before `text`.
        text: what it is asked, or what the person is asked.
        model: only where the flow says one.
        flow: the flow that is called, with `arguments`.
        shows: what a `pass` is there for.
        depth: how many branches, guards and retries are around it.
        starts: whether it is the first of such a one.
        condition: as it is written.
        label: of a place that is jumped to, or of the jump.
        call, tool, exec, worktree, change: what a step of a pipeline does; `call` is
            an agent's.
        context: of an agent: a change as data, beside its prompt, a mapping.
        prompt: what a person is asked at a checkpoint of a pipeline.
        given: what a pipeline is given that is called, a mapping.
        says: a step of a pipeline as it is written, in a line.
    """

    line: int
    column: int
    agent: str
    digests: list[str]
    own: str
    text: list[Part]
    model: str
    flow: str
    arguments: dict[str, list[Part]]
    shows: Literal["condition", "label", "jump", "join", "retry", "gate"]
    depth: int
    starts: bool
    condition: str
    label: str
    call: AgentCall
    tool: ToolCall
    exec: ExecCall
    worktree: WorktreeCall
    change: ChangeCall
    context: Template
    prompt: Template
    given: Template
    says: str


class TemporaryAgent(TypedDict):
    """An agent of this flow alone; its model is sonnet where it has none."""

    base: str
    prompt: list[Part]
    model: str | None


class Plan(TypedDict):
    """A compiled flow, or a pipeline.

    Attributes:
        schemaVersion: 1.
        name: the flow's, or empty.
        source: SHA-256 of the text that it was compiled from.
        nodes: by id, in written order.
        out: sources and conditions, as in `Node`: the flow's last steps, its answer.
        params: what a parameter is that nobody gives; null if it has to be given.
        agents: the temporary agents.
        details: of the nodes.
        flows: the plans of the flows that are called, those that they call included;
            none of these has `flows` of its own.
        form: what it was compiled from; a flow if it is missing.
        inputs: of a pipeline, in place of `params`.
        outputs: of a pipeline: its answer, in place of that of its last steps.
    """

    schemaVersion: int
    name: str
    source: str
    nodes: dict[str, Node]
    out: list[Edge]
    params: dict[str, str | None]
    agents: dict[str, TemporaryAgent]
    details: dict[str, Detail]
    flows: dict[str, Plan]
    form: NotRequired[Literal["flow", "pipeline"]]
    inputs: NotRequired[dict[str, Input]]
    outputs: NotRequired[Template]
