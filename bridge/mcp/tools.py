"""The tools: what each takes, in whose name it acts, what it returns.

Their signatures are their schemas, and their docstrings are what a model reads.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from bridge.api.aio import AsyncBridge
from bridge.api.bridge import Bridge
from bridge.api.variables import Variables as Known
from bridge.api.wait import cancel
from bridge.errors import WaitTimeout
from bridge.mcp import results
from bridge.mcp.caller import Caller, identify, variables_for
from bridge.mcp.serving import Serving
from bridge.mcp.starting import Mode, Wanted, next_step, start
from bridge.mcp.working_here import begin_here
from bridge.protocol.names import GENERAL
from bridge.protocol.response import RequestFailed
from bridge.protocol.status import Stage, Status

# An interactive client moves a call to the background after two minutes.
WAIT_S = 110.0
# The request ends by its own deadline; whoever waits looks a moment later.
_GRACE_S = 1.0

Call = Context[Any, Any]
Id = Annotated[str, Field(description="The request_id that start_agent returned.")]
Session = Annotated[
    str | None,
    Field(description="For callers outside of Claude Code: which open session."),
]


class Tools:
    """The tools of a server; `folder` is in the project, None: the working folder."""

    def __init__(self, folder: Path | None, serving: Serving) -> None:
        self._folder = folder
        self._serving = serving

    def _open(self, ctx: Call) -> tuple[Bridge, Caller]:
        """The project as it is now, and who calls."""
        bridge = Bridge.open(self._folder)
        params = ctx.session.client_params
        client = params.client_info.name if params else "a program"
        return bridge, identify(bridge, ctx.request_context.meta, client)

    async def start_agent(
        self,
        ctx: Call,
        *,
        prompt: Annotated[
            str, Field(description="What to do; with a task_id not needed.")
        ] = "",
        agent: Annotated[
            str, Field(description="Which agent; the prompts list those there are.")
        ] = GENERAL,
        mode: Annotated[
            Mode | None,
            Field(
                description="terminal: an agent of the open session; headless: a "
                "process of its own; self: its workflow acts on you; by default what "
                "the agent's definition says."
            ),
        ] = None,
        model: Annotated[
            str | None,
            Field(
                description="haiku, sonnet, opus, fable; headless also FILE.gguf or "
                "openai:NAME."
            ),
        ] = None,
        workflow: Annotated[
            str | None,
            Field(description="A key of the agent's workflows: what it works through."),
        ] = None,
        task_id: Annotated[
            str | None,
            Field(
                description="The task it is about, such as #42; comes back with the "
                "answer.",
                max_length=200,
            ),
        ] = None,
        variables: Annotated[
            dict[str, Any] | None,
            Field(description="Variables of the agent; null switches one off."),
        ] = None,
        continues: Annotated[
            str | None,
            Field(
                description="The request_id of an answer: asks the agent that gave it, "
                "which remembers the conversation."
            ),
        ] = None,
        schema: Annotated[
            dict[str, Any] | None,
            Field(description="The JSON Schema that the answer must satisfy."),
        ] = None,
        timeout_s: Annotated[
            float | None,
            Field(description="Its deadline in seconds; the agent's own, or 120."),
        ] = None,
        wait_quota: Annotated[
            bool,
            Field(description="false: fail at a usage limit, do not wait for its end."),
        ] = True,
        wait: Annotated[
            bool,
            Field(description="false: return at once; wait_for_agent gets the answer."),
        ] = True,
    ) -> Annotated[CallToolResult, results.StartedAgent]:
        """Start an agent, and wait for its checked answer.

        If the result has `next`, do exactly that: only then does the agent start. To
        cancel the call is to cancel the agent.
        """
        options = {
            "model": model,
            "task_id": task_id,
            "workflow": workflow,
            "variables": variables,
            "continues": continues,
            "timeout_s": timeout_s,
            "wait_quota": wait_quota,
        }
        wanted = Wanted(prompt, agent, mode, schema, options)
        bridge, caller = await asyncio.to_thread(self._open, ctx)
        here = await asyncio.to_thread(begin_here, bridge, caller, wanted)
        if here is not None:
            return _result(here)
        # A cancelled call has its agent cancelled as soon as there is one.
        with anyio.CancelScope(shield=True):
            started = await asyncio.to_thread(
                start, bridge, caller, wanted, self._serving
            )
        request_id = started.request_id
        stop = partial(cancel, bridge.quick, request_id)
        with self._serving.waiting(request_id, stop):
            if started.offer is None and wait:
                wait_s = started.timeout_s + _GRACE_S
                return _result(await wait_for(bridge, request_id, wait_s, ctx))
            found = await asyncio.to_thread(bridge.status, request_id)
            return _result(results.agent_of(found, then=started.offer))

    async def wait_for_agent(
        self,
        ctx: Call,
        request_id: Id,
        timeout_s: Annotated[
            float, Field(description="How long to wait, in seconds.", ge=0, le=86_400)
        ] = WAIT_S,
    ) -> Annotated[CallToolResult, results.StartedAgent]:
        """Wait for an agent's answer.

        After `timeout_s` this returns how far the agent is: it goes on, also if the
        call is cancelled.
        """
        bridge, caller = await asyncio.to_thread(self._open, ctx)
        found = await asyncio.to_thread(bridge.status, request_id)
        if (then := next_step(bridge, found, caller)) is not None:
            return _result(results.agent_of(found, then=then))
        return _result(await wait_for(bridge, request_id, timeout_s, ctx))

    def cancel_agent(
        self, ctx: Call, request_id: Id
    ) -> Annotated[CallToolResult, results.StartedAgent]:
        """Cancel an agent; one that runs is stopped at its next tool call."""
        bridge, _ = self._open(ctx)
        bridge.cancel(request_id)
        agent = results.agent_of(bridge.status(request_id))
        return results.tool_result(agent, results.text_of(agent))

    def status(self, ctx: Call) -> Annotated[CallToolResult, results.ProjectOverview]:
        """The open sessions, and the agents that wait or run in this project."""
        bridge, _ = self._open(ctx)
        seen = results.overview_of(bridge.overview())
        return results.tool_result(seen, results.overview_text(seen))

    def get_variables(
        self, ctx: Call, session: Session = None
    ) -> Annotated[CallToolResult, results.VariableValues]:
        """The variables that rules read: yours, or those of an open session."""
        bridge, caller = self._open(ctx)
        return _variables(variables_for(bridge, caller, session))

    def set_variables(
        self,
        ctx: Call,
        values: Annotated[
            dict[str, Any], Field(description="By name; null switches one off.")
        ],
        unset: Annotated[
            list[str], Field(description="These get their first values again.")
        ] = [],  # noqa: B006 - nobody changes it
        session: Session = None,
    ) -> Annotated[CallToolResult, results.VariableValues]:
        """Set variables that belong to no person, rule or tool."""
        bridge, caller = self._open(ctx)
        variables = variables_for(bridge, caller, session)
        variables.change(values, unset)
        return _variables(variables)


def _result(agent: results.StartedAgent) -> CallToolResult:
    result = results.tool_result(agent, results.text_of(agent))
    # A valid answer that reports failure is an answer.
    result.is_error = agent.status in (Status.FAILED, Status.TIMEOUT, Status.CANCELLED)
    return result


def _variables(variables: Known) -> CallToolResult:
    found = results.variables_of(variables)
    return results.tool_result(found, results.variables_text(found))


async def wait_for(
    bridge: Bridge, request_id: str, timeout_s: float, ctx: Context[Any, Any]
) -> results.StartedAgent:
    """How a request stands once it has ended, or after `timeout_s` seconds.

    A cancelled wait leaves the request as it is.

    Raises:
        UnknownRequest: there is no such request.
    """
    tell, began_s = reporter(ctx), time.monotonic()

    def report(stage: Stage) -> None:
        # Without a total: a share of the time would be read as a share of the work.
        gone_s = time.monotonic() - began_s
        tell(f"{stage.words}, {gone_s:.0f} s of {timeout_s:.0f} s")

    stage = None
    try:
        await AsyncBridge(bridge).wait(request_id, timeout_s=timeout_s, on_stage=report)
    except WaitTimeout as exc:
        stage = exc.stage
    except RequestFailed:
        # An end, too; the record says how.
        pass
    return results.agent_of(
        await asyncio.to_thread(bridge.status, request_id), stage=stage
    )


def reporter(ctx: Context[Any, Any]) -> Callable[[str], None]:
    """What reports progress: called in another thread, every few seconds."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()

    def report(words: str) -> None:
        news = ctx.report_progress(loop.time() - began_s, None, words)
        # The loop may be closed: the server ends.
        with suppress(RuntimeError):
            asyncio.run_coroutine_threadsafe(news, loop)

    return report
