"""The tools for changes: have one looked at, have something built and looked at.

Both are runs: `wait_for_flow` shows how far one is, `cancel_flow` ends it. A person's
word on what is not approved is for the person to give.
"""

from typing import Annotated, Any

from mcp_types import CallToolResult

from bridge.api.run_flow import Runner
from bridge.api.validate import begin_build, begin_validation
from bridge.mcp.flow_tools import MaxAgents, Mode, Wait, begun, route_of
from bridge.mcp.tools import Call
from bridge.operation import Says
from bridge.validation.escalation import EscalateTo

Named = Annotated[
    list[str] | None,
    Says("Who looks at it; by default those that fit the change."),
]
Together = Annotated[
    bool, Says("One agent for all that can be asked together, in one reading.")
]


async def validate_change(
    call: Call,
    *,
    scope: Annotated[
        list[str],
        Says(
            "Revisions and paths as for git diff: REV, A..B, PATH; by default all that "
            "is not committed.",
            most=1000,
        ),
    ] = [],  # noqa: B006 - nobody changes it
    mode: Mode = None,
    wait: Wait = True,
    staged: Annotated[bool, Says("What is staged, in place of the files.")] = False,
    intent: Annotated[str | None, Says("What the change is meant to do.")] = None,
    validators: Named = None,
    together: Together = False,
    timeout_s: Annotated[
        float | None, Says("How long each validator may take.")
    ] = None,
) -> CallToolResult:
    """Have validators look at a change, side by side.

    `answers` has the verdict: APPROVED, REJECTED, NEEDS_REVIEW or NOTHING_TO_VALIDATE,
    with a report of each. If the result has `next`, do exactly that. To cancel the call
    is to cancel the run.
    """
    options: Any = {
        "staged": staged,
        "intent": intent,
        "validators": validators,
        "together": together,
        "timeout_s": timeout_s,
    }

    def begin(runner: Runner) -> str:
        options["route"] = route_of(runner, mode)
        return begin_validation(runner, scope, options)[0]

    return await begun(call, begin, wait=wait)


async def build_and_validate(
    call: Call,
    *,
    task: Annotated[str, Says("What is to be built.")],
    mode: Mode = None,
    wait: Wait = True,
    agent: Annotated[str | None, Says("Who builds; by default developer.")] = None,
    validators: Named = None,
    together: Together = False,
    rounds: Annotated[
        int | None, Says("How often it is built at most; 3.", least=1, most=20)
    ] = None,
    escalate_to: Annotated[
        EscalateTo | None,
        Says(
            "Where no round is left: human (a person is asked), architect (an agent "
            "advises for one more round), coordinator (what is left becomes a task), "
            "none."
        ),
    ] = None,
    in_worktree: Annotated[
        bool, Says("Build in a git worktree, on its own branch.")
    ] = False,
    max_agents: MaxAgents = None,
    timeout_s: Annotated[float | None, Says("When the whole has to end.")] = None,
) -> CallToolResult:
    """Have something built, looked at by validators, and mended until they approve.

    `answers` has `isApproved` and what was said to each round. If the result has
    `next`, do exactly that. To cancel the call is to cancel the run.
    """
    options: Any = {
        "agent": agent,
        "validators": validators,
        "together": together,
        "rounds": rounds,
        "escalate_to": escalate_to,
        "in_worktree": in_worktree,
        "max_agents": max_agents,
        "timeout_s": timeout_s,
    }

    def begin(runner: Runner) -> str:
        options["route"] = route_of(runner, mode)
        return begin_build(runner, task, options)[0]

    return await begun(call, begin, wait=wait)
