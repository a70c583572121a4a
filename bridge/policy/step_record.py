"""The record of a conversation's step workflow, and the compiled workflow in it: types.

`bridge.workflows.reader` compiles a workflow, `bridge.store.step_states` keeps the
record, `bridge.policy.step_workflow` asks it. Keys are as on disk. Hooks name these
types only where types are checked: at run time they are plain mappings.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

# A condition, or a value with `${{ … }}`, as `policy.condition` evaluates it.
Code = Any


class Action(TypedDict):
    """Something that a step does; the kind says which of the fields it has."""

    do: Literal[
        "inject_message", "set_variable", "increment_variable", "call_tool",
        "spawn_agent",
    ]  # fmt: skip
    # Where it stands: `file:line`.
    at: str
    when: NotRequired[Code]
    text: NotRequired[str]
    values: NotRequired[dict[str, Code]]
    by: NotRequired[dict[str, float]]
    tool: NotRequired[str]
    agent: NotRequired[str | None]
    prompt: NotRequired[str]
    arguments: NotRequired[Code]
    # The variable that gets the result.
    into: NotRequired[str]


class GateRule(TypedDict):
    """A rule of a step about calls; `tools` are globs, without them it is about all."""

    when: Code
    text: str
    at: str
    reason: str
    # Whether it refuses the call; otherwise it says something about it.
    block: bool
    tools: NotRequired[list[str]]


class Gate(TypedDict):
    """Which calls a step allows: globs, those of `mcp` as `server:tool`."""

    # None for all.
    tools: list[str] | None
    mcp: list[str] | None
    blocked: list[str]
    blockedMcp: list[str]
    rules: list[GateRule]


class Handler(TypedDict):
    """What a step does about results of tools; `ok` is None for either outcome."""

    tools: list[str]
    mcp: list[str]
    at: str
    ok: bool | None
    when: NotRequired[Code]
    do: list[Action]


class Transition(TypedDict):
    """A way to another step; `text` is its condition as written."""

    to: str
    when: Code
    text: str
    at: str
    do: list[Action]


class PrematureStop(TypedDict):
    """What is said when a turn ends too early, and how often at the most."""

    message: str
    max: int


class CompiledStep(TypedDict):
    """One step; `asks` are the names that its transitions ask for."""

    at: str
    status: str | None
    gate: Gate
    enter: list[Action]
    exit: list[Action]
    onTool: list[Handler]
    transitions: list[Transition]
    asks: list[str]
    stop: NotRequired[PrematureStop]


class CompiledWorkflow(TypedDict):
    """A step workflow as hooks obey it.

    `computed` are first values that ask for settings, `made` the variables that only
    actions set, `owners` those that are not the model's.
    """

    version: int
    name: str
    file: str
    layer: str
    digest: str
    first: str
    variables: dict[str, Any]
    computed: dict[str, Code]
    made: list[str]
    owners: dict[str, str]
    steps: dict[str, CompiledStep]
    exit: Code
    exitAt: str
    stop: PrematureStop | None


class Pending(TypedDict):
    """Changes of variables that are to be written, under the key `call`."""

    call: str
    changes: dict[str, Any]
    counted: dict[str, float]


class StepRecord(TypedDict):
    """How a conversation's step workflow stands; times are milliseconds since 1970.

    `applied` are the events that were seen, `untold` the texts that the model has not
    been told, each with the `rev` that added it. `history` has [time, from, to, why].
    `entering` says that the first step's actions are still to be done. `waits` is why a
    deed has to wait, `late` the events that come again once it can be done. `seal`, on
    disk, shows that hostbridge wrote it.
    """

    schemaVersion: int
    run: str
    code: CompiledWorkflow
    status: Literal["active", "ended"]
    step: str
    visit: int
    rev: int
    session: str
    activatedAt: int
    by: str
    params: dict[str, Any]
    settings: dict[str, Any]
    message: str
    stops: int
    untold: list[tuple[int, str]]
    applied: list[str]
    history: list[tuple[int, str, str, str]]
    problems: list[str]
    entering: NotRequired[bool]
    late: NotRequired[list[dict[str, Any]]]
    waits: NotRequired[str]
    seal: NotRequired[str]
    pending: NotRequired[Pending]
    why: NotRequired[str]
    endedAt: NotRequired[int]
