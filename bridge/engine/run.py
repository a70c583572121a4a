"""A run of a plan: how far it is. Plain JSON; no logic. Only loaded by type checkers.

    runs/<run>/plan.json      the part of the plan that each step reads: `Linked`
    runs/<run>/details.json   prompts, temporary agents, sub-flows: read when it asks
    runs/<run>/run.json       `Run`
    runs/<run>/results/       what tools, programs and worktrees gave: `results`

Answers stay where they are, in the responses: `vars` names the requests.

The states of a node in a run:

    (none)     not decided: it waits for its sources
    open       asked: its request, person, called flow, program or time has not ended
    ok         a valid answer; of a checkpoint: agreed; of a called flow: completed
    failed     an answer that says failed or blocked, a refusal, a flow that failed, a
               loop that is used up
    error      no answer, and a condition looks at that
    passed     a `pass`, which only leads on; any other was left out by its condition
    skipped    nothing led to it
    cancelled  it was open, or about to be asked, when the run stopped
    stopped    it failed, and the run stopped by that
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from bridge.flow.details import Template
from bridge.flow.plan import Code, Step

if TYPE_CHECKING:
    from bridge.flow.details import Detail
    from bridge.flow.plan import Plan

Status = Literal["running", "paused", "completed", "failed", "cancelled"]
Policy = Literal["abort", "skip", "ask"]
# What a step waits until; see `Entry`.
Time = Literal["until", "moment", "deadline"]
Digests = dict[str, str]
State = Literal[
    "open", "ok", "failed", "error", "passed", "skipped", "cancelled", "stopped"
]


_Sources = TypedDict("_Sources", {"in": list[str]})


class LinkedNode(Step, _Sources):
    """As `bridge.flow.plan.PlanNode`; `to` are its targets, each with its condition."""

    to: list[tuple[str, Code | None]]


class Linked(TypedDict):
    """The part of a plan that each step reads.

    Attributes:
        schemaVersion: 2.
        nodes: by id, in written order.
        out: the sources of its end.
        agents: the digests of its temporary agents.
        outputs: of a pipeline: its answer.
    """

    schemaVersion: int
    nodes: dict[str, LinkedNode]
    out: list[str]
    agents: NotRequired[Digests]
    outputs: NotRequired[Template]


class Details(TypedDict):
    """The rest of it. `issues` are the nodes that are asked whether they found some."""

    details: dict[str, Detail]
    flows: dict[str, Plan]
    issues: list[str]


class Entry(TypedDict, total=False):
    """What a run knows of a node.

    Attributes:
        state: see above.
        visit: how often it was reached, by jumps too; 1 if it is missing.
        attempt: how often it was asked at this visit.
        dead: the targets that it does not lead to, though it ran.
        forced: a jump reached it; it runs whatever its sources did.
        at: when it was asked, in milliseconds since 1970.
        why: why it failed.
        kind: what kind of step it is, or `background`.
        until: of a wait for so long: when it ends, in milliseconds since 1970, as
            `Run.until`.
        deadline: when it fails, as `until`.
        moment: of a wait for a moment: that, on the wall clock, however that is set.
        awaits: of a wait: what the steps have asked that it waits for.
        waits: whether its agent has asked the person something, and waits for that.
        questions: how often its agent has asked something at this visit.
    """

    state: State
    visit: int
    attempt: int
    dead: list[str]
    forced: bool
    at: int
    why: str
    kind: str
    until: int
    deadline: int
    moment: int
    awaits: list[str]
    waits: bool
    questions: int


class CheckpointReply(TypedDict):
    """What a person said at a checkpoint, when and where.

    Attributes:
        agreed: whether the run goes on with it.
        plain: whether it is a yes and nothing else.
    """

    text: str
    agreed: bool
    plain: NotRequired[bool]
    at: int
    by: str


class _Run(TypedDict):
    """How far a run of anything is.

    Attributes:
        schemaVersion: 2, or 1 if an older version began it.
        run: its id.
        name: the flow's name, or its file's.
        source: the file that it was compiled from; empty if none.
        text: SHA-256 of the flow's text.
        plan: SHA-256 of plan.json.
        details: SHA-256 of details.json.
        rev: how often it has changed.
        status: `why` says more where it is not running.
        open: the nodes that were asked.
        nodes: what is known of each node; nothing of one that nothing has reached.
        vars: the request, checkpoint or run that made a variable.
        loops: how often a jump was taken: `from>to`.
        due: what is to be done in the world for this state to be true: `ask`, `call`,
            `cancel`, `tell` (who called it), each with an id and a node. It is done
            after the state is written, and done again by the next one who looks.
        said: what persons said, by the id of the checkpoint's visit.
        look: every node is to be looked at: the run is new, or has been changed by
            hand.
        asked: how many agents it has asked itself.
        called: of a run that nobody called: how many each run below it has asked.
        agents: how many all of these may ask; null for no limit.
        tokens: how many tokens their agents may use; null for no limit.
        until: when it has to end, in milliseconds since 1970; null for never. It is
            meant on the wall clock as that was at `at`.
        policy: what becomes of the run when a step fails and no condition looks at it.
            Of these four, what `root` says holds for a called run, too.
        parent: the run and the node that called it.
        root: the run that nobody called, above it or itself; its lock is that of all
            runs below it.
        depth: how many runs are above it.
        resumed: how often it was resumed; of a called run, at which of these its caller
            had it go on.
        params: what the flow was given: texts; of a pipeline, any JSON.
        ask: fields of every request, by their names on disk.
        fanOut: how many of its requests may wait or run at once without a person's yes.
        out: what its last steps asked, once it has completed: as in `vars`.
        at: when it last changed.
        uptime: for how long the machine had run then, and since which start: by this a
            wall clock that was set shows. Null before its first step.
        createdAt: when it began; as `at` in milliseconds since 1970.
    """

    schemaVersion: int
    run: str
    name: str
    source: str
    text: str
    plan: str
    details: str
    rev: int
    status: Status
    why: str
    open: list[str]
    nodes: dict[str, Entry]
    vars: dict[str, str]
    loops: dict[str, int]
    due: list[Command]
    said: dict[str, CheckpointReply]
    look: bool
    asked: int
    called: dict[str, int]
    agents: int | None
    tokens: int | None
    until: int | None
    policy: Policy
    parent: tuple[str, str] | None
    root: str
    depth: int
    resumed: int
    params: dict[str, Any]
    ask: dict[str, Any]
    fanOut: int | None
    out: list[str]
    at: int
    uptime: dict[str, Any] | None
    createdAt: int


class Run(_Run, total=False):
    """How far a run is.

    Attributes:
        settings: what its conditions call `settings`.
        done: how many tools, programs and worktrees it has had done
            since it began or was resumed.
    """

    settings: dict[str, Any]
    done: int


Command = tuple[Literal["ask", "call", "cancel", "tell"], str, str]
