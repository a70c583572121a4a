"""The server: our tools, resources and prompts behind the SDK's, on stdin and stdout.

What a call does wrong is a result that says so, with our code and the way out. When
stdin closes, the server ends, and with it every process that it started.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mcp_types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from bridge.api.bridge import Bridge
from bridge.errors import BridgeError, InvalidRequest
from bridge.hints import did_you_mean
from bridge.mcp import task_tools
from bridge.mcp.records import (
    JSON,
    URI,
    agent_prompt,
    list_agents,
    list_requests,
    read_request,
)
from bridge.mcp.results import refused
from bridge.mcp.serving import Serving
from bridge.mcp.validation_tools import ValidationTools
from bridge.protocol.record import first_problem
from bridge.tasks.tool_table import TOOLS

INSTRUCTIONS = """\
hostbridge starts agents and returns their typed, checked answers. In Claude Code these
tools are deferred: load them with ToolSearch ("select:start_agent" or "hostbridge")
before you call them. start_agent(prompt=…) asks a general-purpose agent of the open
session; mode "headless" runs one in a process of its own. If a result has `next`, do
exactly that: the agent starts only then. run_flow runs agents one after the other or
side by side, as a flow says: a text, or a name. validate_change has a change looked at,
build_and_validate has something built and looked at. Tasks are what is to be done in
this project: list_ready_tasks, claim_task, close_task and others work on them.
Variables that belong to a person, a rule or a tool cannot be changed here."""
_READS = mcp_types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
_STARTS = mcp_types.ToolAnnotations(read_only_hint=False, destructive_hint=False)
_ENDS = mcp_types.ToolAnnotations(read_only_hint=False, idempotent_hint=True)
_SETS = mcp_types.ToolAnnotations(
    read_only_hint=False,
    destructive_hint=False,
    idempotent_hint=True,
    open_world_hint=False,
)


class Server(MCPServer[None]):
    """Our server for the project around `folder`, by default the working folder."""

    def __init__(self, folder: Path | None, slots: int) -> None:
        self.folder = folder
        self.serving = Serving(slots)
        super().__init__(
            "hostbridge",
            instructions=INSTRUCTIONS,
            version=version("hostbridge"),
            lifespan=_ending,
        )
        tools = ValidationTools(folder, self.serving)
        for name in ("start_agent", "spawn_agent"):
            self.add_tool(tools.start_agent, name, annotations=_STARTS)
        self.add_tool(tools.wait_for_agent, annotations=_READS)
        self.add_tool(tools.cancel_agent, annotations=_ENDS)
        self.add_tool(tools.run_flow, annotations=_STARTS)
        self.add_tool(tools.wait_for_flow, annotations=_READS)
        self.add_tool(tools.cancel_flow, annotations=_ENDS)
        self.add_tool(tools.validate_change, annotations=_STARTS)
        self.add_tool(tools.build_and_validate, annotations=_STARTS)
        self.add_tool(tools.status, annotations=_READS)
        self.add_tool(tools.get_variables, annotations=_READS)
        self.add_tool(tools.set_variables, annotations=_SETS)

        @self.resource(URI, title="A request and its response", mime_type=JSON)
        def request(request_id: str) -> str:
            return read_request(Bridge.open(folder), request_id)

    async def list_resources(self) -> list[mcp_types.Resource]:
        """The requests of the project, as they are now."""
        return await asyncio.to_thread(lambda: list_requests(Bridge.open(self.folder)))

    async def list_prompts(self) -> list[mcp_types.Prompt]:
        """The agents of the project, as they are now."""
        return await asyncio.to_thread(lambda: list_agents(Bridge.open(self.folder)))

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[None, Any] | None = None,
    ) -> mcp_types.GetPromptResult | mcp_types.InputRequiredResult:
        """The prompt of an agent, filled in."""
        del context
        try:
            return await asyncio.to_thread(
                lambda: agent_prompt(Bridge.open(self.folder), name, arguments or {})
            )
        except BridgeError as exc:
            raise MCPError(mcp_types.INVALID_PARAMS, f"{exc.code}: {exc}") from None

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        context: Context[None, Any] | None = None,
    ) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        """Call a tool; what we refuse is a result that says why."""
        try:
            if name in TOOLS:
                return await self._call_on_tasks(name, arguments, context)
            await self._check_names(name, arguments)
            return await super().call_tool(name, arguments, context)
        except BridgeError as exc:
            return refused(exc)
        except ToolError as exc:
            cause = exc.__cause__
            if isinstance(cause, ValidationError):
                cause = InvalidRequest(f"{name}: {first_problem(cause)}")
            if isinstance(cause, BridgeError):
                return refused(cause)
            raise

    async def list_tools(self) -> list[mcp_types.Tool]:
        """Our tools; none takes an argument that it does not name."""
        tools = await super().list_tools()
        for tool in tools:
            tool.input_schema["additionalProperties"] = False
        return [*tools, *task_tools.listed()]

    async def _call_on_tasks(
        self,
        name: str,
        arguments: dict[str, Any],
        context: Context[None, Any] | None,
    ) -> mcp_types.CallToolResult:
        assert context is not None  # noqa: S101 - the SDK's calls have one
        params = context.session.client_params
        return await asyncio.to_thread(
            task_tools.call,
            self.folder,
            self.serving,
            name,
            arguments,
            context.request_context.meta,
            params.client_info.name if params else "a program",
        )

    async def _check_names(self, name: str, arguments: dict[str, Any]) -> None:
        """Check that a tool has these arguments: the SDK would drop one misspelt."""
        tools = {tool.name: tool for tool in await self.list_tools()}
        if name not in tools:
            return
        known = tools[name].input_schema["properties"]
        for each in arguments.keys() - known.keys():
            hint = did_you_mean(each, known, 1)
            raise InvalidRequest(f"{name} has no argument {each[:100]!r}{hint}")


@asynccontextmanager
async def _ending(server: MCPServer[None]) -> AsyncIterator[None]:
    """End what the server started, when its client leaves or it is told to end."""
    assert isinstance(server, Server)  # noqa: S101 - it is ours
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, _end_now, server.serving, number)
    try:
        yield
    finally:
        server.serving.end()


def _end_now(serving: Serving, number: int) -> None:
    # The SDK's reader cannot be interrupted: it sits in a read of stdin.
    serving.end()
    os._exit(128 + number)


def run(folder: Path | None, slots: int) -> None:
    """Serve one client until it closes stdin."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="hostbridge: %(message)s"
    )
    Server(folder, slots).run()
