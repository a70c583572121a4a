"""The options of runs: what `run`, `validate` and `build` take, said once.

`Bridge` takes them, commands make options of them, and tools over MCP take those that a
model may give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Annotated, TypedDict

from bridge.api.routing import RouteChoice
from bridge.engine.run import Policy
from bridge.engine.view import RunView
from bridge.operation import Says
from bridge.validation.escalation import EscalateTo


class RunGiven(TypedDict, total=False):
    """What also a model may say of a run."""

    max_agents: Annotated[
        int | None, Says("How many agents it may ask; then it is paused.", least=0)
    ]


class RunOptions(RunGiven, total=False):
    """The options of `Bridge.run`.

    `max_agents` counts those of called flows, too; `max_tokens` what routes tell.

    Attributes:
        route: as in `RequestOptions`; auto is an open session, or what
            `BRIDGE_CLI_FALLBACK` names.
        session: the only host session that may take its requests.
        wait_quota: as in `RequestOptions`, for each of its agents.
        on_change: called with a `RunView` when the run has changed, and now and then.
    """

    route: RouteChoice
    session: str | None
    timeout_s: Annotated[
        float | timedelta | None,
        Says("When the whole run has to end; by default never."),
    ]
    step_timeout_s: Annotated[
        float | timedelta | None,
        Says(
            "How long each agent may take; by default as its definition says, or 1h, "
            "and a day in an open session."
        ),
    ]
    max_tokens: Annotated[
        int | None,
        Says("How many tokens they may use, such as 500k; then it is paused."),
    ]
    on_failure: Annotated[
        Policy,
        Says(
            "If a step fails and no condition looks at that: abort (the default), skip "
            "(go on without it), or ask (pause)."
        ),
    ]
    wait_quota: bool | None
    on_change: Callable[[RunView], None]


class LookGiven(TypedDict, total=False):
    """What also a model may say of a look at a change."""

    together: Annotated[
        bool,
        Says(
            "One agent for all that can be asked together: one reading of the change."
        ),
    ]


class _LookOptions(RunOptions, LookGiven, total=False):
    """What both `validate` and `build_and_validate` take.

    Attributes:
        validators: who looks at the change: the names of agents; by default those that
            fit its complexity.
    """

    validators: str | Iterable[str] | None
    complexity: Annotated[
        str | None,
        Says(
            "How complex it counts: trivial, low, medium or high; by default as found.",
            option="LEVEL",
        ),
    ]
    accept_degraded: Annotated[
        bool,
        Says("Accept verdicts of a small model, or of another than wanted."),
    ]


class ValidateGiven(LookGiven, total=False):
    """What also a model may say of a validation."""

    staged: Annotated[bool, Says("What is staged, in place of the files.")]
    intent: Annotated[str | None, Says("What the change is meant to do.")]


class ValidateOptions(_LookOptions, ValidateGiven, total=False):
    """The options of `Bridge.validate`; `timeout_s` is the most for each validator."""


class BuildGiven(RunGiven, LookGiven, total=False):
    """What also a model may say of a build."""

    agent: Annotated[
        str | None, Says("Who builds; by default developer.", option="AGENT")
    ]
    rounds: Annotated[
        int | None,
        Says(
            "How often it is built at most before it is escalated; by default 3.",
            least=1,
            most=20,
        ),
    ]
    escalate_to: Annotated[
        EscalateTo | None,
        Says(
            "Where no round is left: human (a person is asked, the default), architect "
            "(an agent advises for one more round), coordinator (what is left becomes "
            "a task), none."
        ),
    ]
    in_worktree: Annotated[
        bool,
        Says(
            "Build in a git worktree of its own; what is approved is on its branch.",
            option="--worktree",
        ),
    ]


class BuildOptions(_LookOptions, BuildGiven, total=False):
    """The options of `Bridge.build_and_validate`."""

    model: Annotated[str | None, Says("The model of that agent.", option="MODEL")]


OF_RUNS = {"run": RunOptions, "validate": ValidateOptions, "build": BuildOptions}
