"""The tools of our MCP server, for an agent of our own loop.

They have the names there that they have in a session, such as
`mcp__hostbridge__get_task`: prompts, grants and rules mean the same on every route.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from bridge.agent_loop.tool import Tool, ToolResult, object_schema, refused
from bridge.errors import BridgeError
from bridge.host.gate import permits
from bridge.policy.tool_classes import OWN_SERVER
from bridge.rules.compiled import kept_variables
from bridge.store.host_process import identify
from bridge.store.variables import Holder, Kept, set_variables, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.agents.definition import Definition
    from bridge.config import Settings
    from bridge.protocol.request import Request
    from bridge.store.store import Store

    Json = dict[str, Any]


def own_tools(
    store: Store, settings: Settings, request: Request, definition: Definition | None
) -> tuple[Tool, ...]:
    """Those that the definition of a request lists; none without a list."""
    listed = definition.tools if definition else None
    if not any(name.startswith(OWN_SERVER.rstrip("_")) for name in listed or ()):
        # SQLite stays unloaded.
        return ()
    blocked = definition.blocked_tools if definition else ()
    return tuple(
        tool
        for each in (_on_tasks, _on_variables)
        for tool in each(store, settings, request)
        if permits(listed, blocked, tool.name)
    )


def _on_tasks(store: Store, settings: Settings, request: Request) -> Iterator[Tool]:
    from bridge.tasks.claims import holder_of_run
    from bridge.tasks.task import Holder as TaskHolder
    from bridge.tasks.tool_deeds import ToolContext
    from bridge.tasks.tool_table import TOOLS, call

    holder = holder_of_run(store, request.request_id) or TaskHolder(
        f"agent {request.request_id}", identify(os.getpid())
    )
    context = ToolContext(store, settings, holder)
    for name, tool in TOOLS.items():
        run = partial(call, context, name)
        yield _tool(name, tool.about, tool.schema, run)


def _on_variables(store: Store, settings: Settings, request: Request) -> Iterator[Tool]:
    holder = Holder.agent(request.request_id)

    def get_variables(_: Json) -> Json:
        return {**request.variables, **values_of(store, holder)}

    def change(given: Json) -> Json:
        kept = {
            name: Kept("person", "the person (the agent began with it)")
            for name in request.variables
        } | kept_variables(settings, store)
        set_variables(store, holder, given["values"], "model", kept=kept)
        return get_variables({})

    yield _tool("get_variables", "Your variables.", object_schema({}), get_variables)
    yield _tool(
        "set_variables",
        "Set variables that belong to no person, rule or tool.",
        object_schema({"values": {"type": "object"}}, "values"),
        change,
    )


def _tool(name: str, about: str, schema: Json, run: Callable[[Json], Any]) -> Tool:
    def called(arguments: Json) -> ToolResult:
        try:
            return ToolResult(orjson.dumps(run(arguments)).decode())
        except BridgeError as error:
            return refused(error)

    return Tool(f"{OWN_SERVER}{name}", about, schema, called)
