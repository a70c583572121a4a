"""What a flow compiles to: nodes, and the edges between them. Plain JSON; no logic.

The engine advances a *run* of a plan. Pipelines, `validate` and `build` are plans, too.
`Plan.nodes` is all that it loads at each step. `Plan.details` has what is only asked
for when a node starts, or is shown (`bridge.flow.details`). Both have the nodes in
written order, which is the order that "before" and "after" mean here.

How a run goes, from edges alone:

- An edge `[SOURCE, CONDITION]` carries a live or a dead token once its source has
  ended: live if the source ran and the condition holds (None always does), or dead. The
  conditions of a source are decided together, when it ends.
- A node whose edges all have a token is decided. One live token runs it; all dead skip
  it, and it sends dead ones on. A node without edges runs at once.
- *Last steps* of a node: each source with a live edge, if it is a step, or what are
  that source's own last steps, if it is a `pass`; of one that has failed, as the jump
  of a loop that is used up, that one, too. Where a node has `since`, those that
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

from typing import Any, Literal, NotRequired, TypedDict

from bridge.flow.details import Detail, Template, TemporaryAgent

# A compiled condition: what `bridge.policy.condition` reads.
Code = Any
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
        says: the condition as it is written, if there is one.
        body: the first and the last node, in written order, that start anew: what
            still runs there is cancelled, its tokens, counters and ends are forgotten.
    """

    to: str
    when: Code | None
    max: int
    body: tuple[str, str]
    says: NotRequired[str]


class Last(TypedDict):
    """What a node is in a loop whose jump back stands further down, at `jump`.

    Where that jump has been taken as often as it may, and `when` holds, the loop is
    used up before the node runs: nothing would look at what it does.
    """

    jump: str
    when: Code


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
        # When it ends, no jump is taken and this holds, the loop is used up: a failure
        # of the node, to the run as any other is.
        "fail": NotRequired[Code],
        "last": NotRequired["Last"],
        # Of pipelines: unless it holds, the node is skipped, its tokens dead, or live.
        "if": NotRequired[Code],
        "skip": NotRequired[Literal["dead", "pass"]],
        # It runs on the first live token; what leads only to it is cancelled.
        "any": NotRequired[bool],
        # An agent that nothing waits for: its step ends once it is asked.
        "background": NotRequired[bool],
        # What a failure is to the run, in place of its policy: `skip` goes on.
        "on_failure": NotRequired[OnFailure],
        # Of `fail`: the tools right before it that only read. Where a run goes on that
        # has failed there, they read anew: what was missing may be there.
        "anew": NotRequired[list[str]],
        # Of `wait`: the step whose agent is waited for, or seconds, or a time in
        # seconds since 1970 or as ISO 8601.
        "wait": NotRequired["Awaited"],
        # Of `approval`: what is said is what it asks for, unless that is a no; without
        # it, it takes a yes or a no.
        "takes": NotRequired[Literal["words"]],
        # Of `wait` and `approval`: it fails that many seconds after it was reached.
        "deadline_s": NotRequired[Template],
        # Of pipelines: where the step, or its condition, stands, for errors.
        "at": NotRequired[str],
    },
)
_Edges = TypedDict("_Edges", {"in": list[Edge]})


class PlanNode(Step, _Edges):
    """A node: what it is, and the edges that lead to it."""


class Input(TypedDict, total=False):
    """What a run is given; without a `default` it is null, if not `required`."""

    type: Literal[
        "string", "task", "integer", "number", "boolean", "array", "object", "any"
    ]
    required: bool
    default: Any
    description: str


class Plan(TypedDict):
    """A compiled flow, or a pipeline.

    Attributes:
        schemaVersion: 2.
        name: the flow's, or empty.
        source: SHA-256 of the text that it was compiled from.
        nodes: by id, in written order.
        out: sources and conditions, as in `PlanNode`: the last steps, its answer.
        inputs: what it is given, by name; of a flow: its parameters, as texts.
        agents: the temporary agents.
        details: of the nodes.
        flows: the plans of the flows that are called, those that they call included;
            none of these has `flows` of its own.
        outputs: of a pipeline: its answer, in place of that of its last steps.
    """

    schemaVersion: int
    name: str
    source: str
    nodes: dict[str, PlanNode]
    out: list[Edge]
    inputs: dict[str, Input]
    agents: dict[str, TemporaryAgent]
    details: dict[str, Detail]
    flows: dict[str, Plan]
    outputs: NotRequired[Template]
