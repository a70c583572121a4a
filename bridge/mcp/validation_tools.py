"""The tools for changes: have one looked at, have something built and looked at.

Both are runs: `wait_for_flow` shows how far one is, `cancel_flow` ends it. A person's
word on what is not approved is for the person to give.
"""

from typing import Annotated, Any, Unpack

from mcp_types import CallToolResult

from bridge.api.run_flow import Runner
from bridge.api.run_options import BuildGiven, ValidateGiven
from bridge.api.validate import begin_build, begin_validation
from bridge.mcp.flow_tools import Mode, Wait, begun, route_of
from bridge.mcp.tools import Call
from bridge.operation import Says

Named = Annotated[
    list[str] | None,
    Says("Who looks at it; by default those that fit the change."),
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
    validators: Named = None,
    timeout_s: Annotated[
        float | None, Says("How long each validator may take.")
    ] = None,
    **options: Unpack[ValidateGiven],
) -> CallToolResult:
    """Have validators look at a change, side by side.

    `answers` has the verdict: APPROVED, REJECTED, NEEDS_REVIEW or NOTHING_TO_VALIDATE,
    with a report of each. If the result has `next`, do exactly that. To cancel the call
    is to cancel the run.
    """

    def begin(runner: Runner) -> str:
        given: Any = {**options, "validators": validators, "timeout_s": timeout_s}
        given["route"] = route_of(runner, mode)
        return begin_validation(runner, scope, given)[0]

    return await begun(call, begin, wait=wait)


async def build_and_validate(
    call: Call,
    *,
    task: Annotated[str, Says("What is to be built.")],
    mode: Mode = None,
    wait: Wait = True,
    validators: Named = None,
    timeout_s: Annotated[float | None, Says("When the whole has to end.")] = None,
    **options: Unpack[BuildGiven],
) -> CallToolResult:
    """Have something built, looked at by validators, and mended until they approve.

    `answers` has `isApproved` and what was said to each round. If the result has
    `next`, do exactly that. To cancel the call is to cancel the run.
    """

    def begin(runner: Runner) -> str:
        given: Any = {**options, "validators": validators, "timeout_s": timeout_s}
        given["route"] = route_of(runner, mode)
        return begin_build(runner, task, given)[0]

    return await begun(call, begin, wait=wait)
