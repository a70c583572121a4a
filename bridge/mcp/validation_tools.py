"""The tools for changes: have one looked at, have something built and looked at.

Both are runs: `wait_for_flow` shows how far one is, `cancel_flow` ends it. A person's
word on what is not approved is for the person to give.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

import anyio
from mcp_types import CallToolResult
from pydantic import Field

from bridge.api.run_flow import Runner
from bridge.api.validate import begin_build, begin_validation
from bridge.mcp.flow_results import FlowRun
from bridge.mcp.flow_tools import (
    FlowTools,
    cancel,
    followed,
    route_of,
    runner_for,
    serve,
)
from bridge.mcp.tools import Call
from bridge.validation.escalation import EscalateTo

Begin = Callable[[Runner], str]
Mode = Annotated[
    Literal["terminal", "headless"] | None,
    Field(
        description="terminal: agents of the open session; headless: processes of "
        "their own; by default a session, if one is open."
    ),
]
Named = Annotated[
    list[str] | None,
    Field(description="Who looks at it; by default those that fit the change."),
]
Together = Annotated[
    bool,
    Field(description="One agent for all that can be asked together, in one reading."),
]
Wait = Annotated[
    bool, Field(description="false: return at once; wait_for_flow gets the result.")
]


class ValidationTools(FlowTools):
    """All tools: those of agents and flows, and these."""

    async def validate_change(
        self,
        ctx: Call,
        *,
        scope: Annotated[
            list[str],
            Field(
                description="Revisions and paths as for git diff: REV, A..B, PATH; by "
                "default all that is not committed.",
                max_length=1000,
            ),
        ] = [],  # noqa: B006 - nobody changes it
        staged: Annotated[
            bool, Field(description="What is staged, in place of the files.")
        ] = False,
        intent: Annotated[
            str | None, Field(description="What the change is meant to do.")
        ] = None,
        validators: Named = None,
        together: Together = False,
        mode: Mode = None,
        timeout_s: Annotated[
            float | None, Field(description="How long each validator may take.")
        ] = None,
        wait: Wait = True,
    ) -> Annotated[CallToolResult, FlowRun]:
        """Have validators look at a change, side by side.

        `answers` has the verdict: APPROVED, REJECTED, NEEDS_REVIEW or
        NOTHING_TO_VALIDATE, with a report of each. If the result has `next`, do exactly
        that. To cancel the call is to cancel the run.
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

        return await self._begun(ctx, begin, wait=wait)

    async def build_and_validate(
        self,
        ctx: Call,
        *,
        task: Annotated[str, Field(description="What is to be built.")],
        agent: Annotated[
            str | None, Field(description="Who builds; by default developer.")
        ] = None,
        validators: Named = None,
        together: Together = False,
        rounds: Annotated[
            int | None,
            Field(description="How often it is built at most; 3.", ge=1, le=20),
        ] = None,
        escalate_to: Annotated[
            EscalateTo | None,
            Field(
                description="Where no round is left: human (a person is asked), "
                "architect (an agent advises for one more round), coordinator (what is "
                "left becomes a task), none."
            ),
        ] = None,
        in_worktree: Annotated[
            bool, Field(description="Build in a git worktree, on its own branch.")
        ] = False,
        mode: Mode = None,
        max_agents: Annotated[
            int | None, Field(description="How many it may ask; then it is paused.")
        ] = None,
        timeout_s: Annotated[
            float | None, Field(description="When the whole has to end.")
        ] = None,
        wait: Wait = True,
    ) -> Annotated[CallToolResult, FlowRun]:
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

        return await self._begun(ctx, begin, wait=wait)

    async def _begun(self, ctx: Call, begin: Begin, *, wait: bool) -> CallToolResult:
        """Begin a run, see that it is served, and follow it."""
        bridge, caller = await asyncio.to_thread(self._open, ctx)

        def start() -> str:
            runner = runner_for(bridge, caller)
            run_id = begin(runner)
            serve(runner, run_id, self._serving)
            return run_id

        # A cancelled call has its run cancelled as soon as there is one.
        with anyio.CancelScope(shield=True):
            run_id = await asyncio.to_thread(start)
        with self._serving.waiting(run_id, partial(cancel, bridge, run_id)):
            wait_s = float("inf") if wait else 0.0
            return await followed(bridge, caller, run_id, wait_s, ctx)
