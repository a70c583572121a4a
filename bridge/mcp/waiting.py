"""Wait for an agent, and let the client see that something goes on."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge.api.aio import AsyncBridge
from bridge.api.bridge import Bridge
from bridge.errors import WaitTimeout
from bridge.mcp.results import Agent, agent_of
from bridge.protocol.response import RequestFailed
from bridge.protocol.status import Stage

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context


async def wait_for(
    bridge: Bridge, request_id: str, timeout_s: float, ctx: Context[Any, Any]
) -> Agent:
    """How a request stands once it has ended, or after `timeout_s` seconds.

    A cancelled wait leaves the request as it is.

    Raises:
        UnknownRequest: there is no such request.
    """
    report = _reporter(ctx, timeout_s)
    stage = None
    try:
        await AsyncBridge(bridge).wait(request_id, timeout_s=timeout_s, on_stage=report)
    except WaitTimeout as exc:
        stage = exc.stage
    except RequestFailed:
        # An end, too; the record says how.
        pass
    return agent_of(await asyncio.to_thread(bridge.status, request_id), stage=stage)


def _reporter(ctx: Context[Any, Any], timeout_s: float) -> Any:
    """What reports progress: called in another thread, every few seconds."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()

    def report(stage: Stage) -> None:
        gone_s = loop.time() - began_s
        # Without a total: a share of the time would be read as a share of the work.
        words = f"{stage.words}, {gone_s:.0f} s of {timeout_s:.0f} s"
        news = ctx.report_progress(gone_s, None, words)
        # The loop may be closed: the server ends.
        with suppress(RuntimeError):
            asyncio.run_coroutine_threadsafe(news, loop)

    return report
