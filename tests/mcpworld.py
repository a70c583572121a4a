"""Our MCP server as a process, with the SDK's own client before it.

async with served(world.project) as client:
    result = await client.call_tool("status")

It is forked, as importing what it needs takes two seconds, and a child of the fork
server, which stands for Claude Code: `client_pid`. A server that is STARTED is a child
of this process.
"""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import forkserver
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from hookworld import HookWorld
    from mcp_types import CallToolResult

OURS = "mcp__hostbridge__"
STARTED = (sys.executable, "-m", "bridge", "mcp")
_numbers = count(1)


def client_pid() -> int:
    """The process that has started the server, unless a command did."""
    return forkserver.parent_of("mcp")


@asynccontextmanager
async def served(
    folder: Path, command: Sequence[str] = (), **more: str
) -> AsyncIterator[Client]:
    """A client of a server in this folder; `more` is added to our environment."""
    program, *words = command or forkserver.command("mcp", room="mcp")
    server = StdioServerParameters(
        command=program, args=words, env={**os.environ, **more}, cwd=folder
    )
    async with Client(stdio_client(server)) as client:
        yield client


def run(
    steps: Callable[[Client], Awaitable[None]],
    folder: Path,
    command: Sequence[str] = (),
    **more: str,
) -> None:
    """Do steps with a client."""

    async def all_of_it() -> None:
        async with served(folder, command, **more) as client:
            await steps(client)

    anyio.run(all_of_it)


def server_pid() -> int:
    """The server's process, if it was forked."""
    parent = client_pid()
    (server,) = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return int(server)


async def call_from(
    world: HookWorld,
    client: Client,
    tool: str,
    arguments: dict[str, Any],
    *,
    agent: str = "",
    kind: str = "general-purpose",
) -> CallToolResult:
    """Call a tool as the client does for a session, or one of its agents."""
    call = f"toolu_mcp{next(_numbers)}"
    fields: dict[str, Any] = {"agent_id": agent, "agent_type": kind} if agent else {}
    world.say(
        "PreToolUse", tool_name=OURS + tool, tool_input={}, tool_use_id=call, **fields
    )
    meta: Any = {"claudecode/toolUseId": call}
    return await client.call_tool(tool, arguments, meta=meta)


def text_of(result: CallToolResult) -> str:
    """What a client shows that knows no structured results."""
    (content,) = result.content
    assert content.type == "text"
    return content.text


def told(result: CallToolResult) -> dict[str, Any]:
    """What a program reads of it."""
    assert result.structured_content is not None, text_of(result)
    return result.structured_content
