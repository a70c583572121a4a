"""The tools: what each takes, in whose name it acts, what it returns.

Their signatures are their schemas, and their docstrings are what a model reads.
"""

import asyncio
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from bridge.api.bridge import Bridge
from bridge.mcp.caller import Caller, identify
from bridge.mcp.results import (
    Agent,
    Overview,
    Variables,
    agent_of,
    overview_of,
    overview_text,
    text_of,
    tool_result,
    variables_text,
)
from bridge.mcp.serving import Serving
from bridge.mcp.starting import Mode, Wanted, check_wait, start
from bridge.mcp.variables import change_variables, read_all
from bridge.mcp.waiting import wait
from bridge.protocol.names import GENERAL
from bridge.protocol.status import FINAL

# Below the two minutes after which an interactive client moves a call to the background.
WAIT_S = 110.0
# The request ends by its own deadline; who waits looks a moment later.
_GRACE_S = 5.0

Call = Context[Any, Any]
Id = Annotated[str, Field(description="The request_id that start_agent returned.")]
Session = Annotated[
    str | None,
    Field(description="For callers outside of Claude Code: which open session."),
]


class Tools:
    """The tools of a server; `folder` is in the project, None: the working folder."""

    def __init__(self, folder: str | None, serving: Serving) -> None:
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
        prompt: Annotated[str, Field(description="The task.")],
        agent: Annotated[
            str, Field(description="Which agent; the prompts list those there are.")
        ] = GENERAL,
        mode: Annotated[
            Mode | None,
            Field(
                description="terminal: an agent of the open session; headless: a "
                "process of its own; by default what the agent's definition says."
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
            str | None, Field(description="Not yet: this version runs no workflows.")
        ] = None,
        task_id: Annotated[
            str | None, Field(description="Your own id; comes back with the answer.")
        ] = None,
        variables: Annotated[
            dict[str, Any] | None,
            Field(description="Variables of the agent; null switches one off."),
        ] = None,
        schema: Annotated[
            dict[str, Any] | None,
            Field(description="The JSON Schema that the answer must satisfy."),
        ] = None,
        timeout_s: Annotated[
            float | None,
            Field(description="Its deadline in seconds; the agent's own, or 120."),
        ] = None,
        wait: Annotated[
            bool,
            Field(description="false: return at once; wait_for_agent gets the answer."),
        ] = True,
    ) -> Annotated[CallToolResult, Agent]:
        """Start an agent and wait for its checked answer. If the result has `next`, do
        exactly that: only then does the agent start. Cancelling the call cancels it.
        """
        options = {
            "model": model,
            "task_id": task_id,
            "variables": variables,
            "timeout_s": timeout_s,
        }
        wanted = Wanted(prompt, agent, mode, workflow, schema, options)

        def begin() -> tuple[Bridge, Any]:
            bridge, caller = self._open(ctx)
            return bridge, start(bridge, caller, wanted, self._serving)

        bridge, started = await asyncio.to_thread(begin)
        if started.offer is not None or not wait:
            found = await asyncio.to_thread(bridge.status, started.request_id)
            return _agent(agent_of(found, then=started.offer))
        try:
            return _agent(
                await _wait(bridge, started.request_id, started.timeout_s + _GRACE_S, ctx)
            )
        except asyncio.CancelledError:
            bridge.cancel(started.request_id)
            raise
