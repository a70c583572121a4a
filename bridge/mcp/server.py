"""The server: our tools, resources and prompts behind the SDK's, on stdin and stdout.

What a call does wrong is a result that says so, with our code and the way out. When
stdin closes, the server ends, and with it every process that it started.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import mcp_types
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from bridge.api.bridge import Bridge
from bridge.errors import BridgeError
from bridge.mcp import flow_tools, tools, validation_tools
from bridge.mcp.caller import identify
from bridge.mcp.flow_results import FlowRun
from bridge.mcp.records import (
    JSON,
    URI,
    agent_prompt,
    list_agents,
    list_requests,
    read_request,
)
from bridge.mcp.results import ProjectOverview, StartedAgent, VariableValues, refused
from bridge.mcp.serving import Serving
from bridge.mcp.task_tools import call_on_tasks
from bridge.mcp.tools import Call
from bridge.operation import Operation
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


class _Tool(Operation):
    """A tool of agents, flows and variables, and what a client may expect of it."""

    def __init__(
        self,
        deed: Callable[..., Any],
        result: type[BaseModel],
        hints: mcp_types.ToolAnnotations,
        name: str = "",
    ) -> None:
        super().__init__(deed, name)
        self.result = result
        self.hints = hints


_OURS = {
    tool.name: tool
    for tool in (
        _Tool(tools.start_agent, StartedAgent, _STARTS),
        _Tool(tools.start_agent, StartedAgent, _STARTS, "spawn_agent"),
        _Tool(tools.wait_for_agent, StartedAgent, _READS),
        _Tool(tools.cancel_agent, StartedAgent, _ENDS),
        _Tool(flow_tools.run_flow, FlowRun, _STARTS),
        _Tool(flow_tools.wait_for_flow, FlowRun, _READS),
        _Tool(flow_tools.cancel_flow, FlowRun, _ENDS),
        _Tool(validation_tools.validate_change, FlowRun, _STARTS),
        _Tool(validation_tools.build_and_validate, FlowRun, _STARTS),
        _Tool(tools.status, ProjectOverview, _READS),
        _Tool(tools.get_variables, VariableValues, _READS),
        _Tool(tools.set_variables, VariableValues, _SETS),
    )
}


def _listed(tool: Operation) -> mcp_types.Tool:
    """A tool as a client sees it."""
    output: dict[str, Any] = {"type": "object"}
    hints = mcp_types.ToolAnnotations(
        read_only_hint=not tool.changes, destructive_hint=False, open_world_hint=False
    )
    if isinstance(tool, _Tool):
        output, hints = tool.result.model_json_schema(), tool.hints
    return mcp_types.Tool(
        name=tool.name,
        description=tool.about,
        input_schema=tool.schema,
        output_schema=output,
        annotations=hints,
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
        assert context is not None  # noqa: S101 - the SDK's calls have one
        try:
            if name in TOOLS:
                call = await asyncio.to_thread(self._opened, context)
                return await asyncio.to_thread(call_on_tasks, call, name, arguments)
            if name not in _OURS:
                return await super().call_tool(name, arguments, context)
            tool = _OURS[name]
            checked = tool.checked(arguments)
            call = await asyncio.to_thread(self._opened, context)
            if iscoroutinefunction(tool.deed):
                done: mcp_types.CallToolResult = await tool.call(call, checked)
                return done
            return await asyncio.to_thread(tool.call, call, checked)
        except BridgeError as exc:
            return refused(exc)

    def _opened(self, context: Context[None, Any]) -> Call:
        """The project as it is now, and who calls."""
        bridge = Bridge.open(self.folder)
        params = context.session.client_params
        client = params.client_info.name if params else "a program"
        caller = identify(bridge, context.request_context.meta, client)
        return Call(bridge, caller, self.serving, context)

    async def list_tools(self) -> list[mcp_types.Tool]:
        """Our tools, and those on tasks."""
        return [*map(_listed, (*_OURS.values(), *TOOLS.values()))]


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
