"""The tools of our MCP server, for an agent of our own loop.

They have the names there that they have in a session, such as
`mcp__hostbridge__get_task`: prompts, grants and rules mean the same on every route.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from bridge.agent_loop.tool import Tool, ToolResult, object_schema, refused
from bridge.bound import spawn_agent
from bridge.bound.delegation import Delegator, give_up
from bridge.errors import BridgeError, InvalidRequest
from bridge.policy.tool_classes import OWN_SERVER
from bridge.policy.tool_lists import permits
from bridge.protocol.ids import RequestId, new_request_id
from bridge.rules.compiled import kept_variables
from bridge.store.host_process import identify
from bridge.store.variables import Holder, Kept, set_variables, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.agents.definition import Definition
    from bridge.config import Settings
    from bridge.protocol.outcome import Control
    from bridge.protocol.request import Request
    from bridge.protocol.response import Response
    from bridge.store.store import Store

    Json = dict[str, Any]

_TEXT = {"type": "string", "minLength": 1}
_ASKED = object_schema(
    dict.fromkeys(("agent", "prompt", "task_id", "workflow", "mode"), _TEXT),
    "agent",
)


def own_tools(
    store: Store,
    settings: Settings,
    request: Request,
    definition: Definition | None,
    control: Control,
) -> tuple[Tool, ...]:
    """Those that the definition of a request lists; none without a list."""
    listed = definition.tools if definition else None
    if not any(name.startswith(OWN_SERVER.rstrip("_")) for name in listed or ()):
        # SQLite stays unloaded.
        return ()
    blocked = definition.blocked_tools if definition else ()
    agents = _Agents(store, settings, request, control)
    tools = (*_on_tasks(agents), *_on_variables(agents), *_on_agents(agents))
    return tuple(tool for tool in tools if permits(listed, blocked, tool.name))


@dataclass(frozen=True, slots=True)
class _Agents:
    """Asks agents for an agent of a request, and waits for their answers."""

    store: Store
    settings: Settings
    request: Request
    control: Control

    def spawn(self, given: Json) -> Json:
        """Ask one, and wait until it has answered or nobody waits for us."""
        key = new_request_id(self.store.clock.now_us(), "high")
        with self.store.open() as store:
            asked = spawn_agent.spawn(self._delegator(store), given, key)
        return self._ended(str(asked.value["request_id"]))

    def start(self, *, dedup_key: str, **given: Any) -> str:
        """As `bridge.tasks.validation.StartAgent`; returns once it has answered."""
        with self.store.open() as store:
            asked = spawn_agent.start(self._delegator(store), given, dedup_key)
        request_id = str(asked.value["request_id"])
        self._ended(request_id)
        return request_id

    @property
    def variables(self) -> Json:
        """The agent's own, as they are now."""
        holder = Holder.agent(self.request.request_id)
        return {**self.request.variables, **values_of(self.store, holder)}

    def _delegator(self, store: Store) -> Delegator:
        request = self.request
        return Delegator(
            self.settings,
            store,
            request.request_id,
            parent=request.request_id,
            depth=request.depth + 1,
            variables=self.variables,
            route=request.served_on,
        )

    def _ended(self, request_id: str) -> Json:
        known = RequestId(request_id)

        def tend() -> None:
            if not self.control.should_stop():
                self.store.sweep()
                return
            if waiting := self.store.find_unfinished(known):
                give_up(self.store, waiting, "cancelled", "its agent has ended")
            raise InvalidRequest("the run is over: no time is left")

        tend()
        (response,) = self.store.wait([known], timeout_s=math.inf, tend=tend)
        return _answer_of(response)


def _answer_of(response: Response) -> Json:
    """A call's result, by the names that it has over MCP (`bridge.mcp.results`)."""
    answer, failure = response.parsed_output, response.error
    error = None
    if failure is not None:
        error = {"code": failure.code, "message": failure.message}
    return {
        "request_id": response.request_id,
        "status": response.status,
        "success": response.success,
        "answer": response.raw_output if answer is None else answer,
        "error": error,
    }


def _on_tasks(agents: _Agents) -> Iterator[Tool]:
    from bridge.tasks.claims import holder_of_run
    from bridge.tasks.task import Holder as TaskHolder
    from bridge.tasks.tool_table import TOOLS, call
    from bridge.tasks.tools import ToolContext

    asked = agents.request.request_id
    who = holder_of_run(agents.store, asked) or TaskHolder(
        f"agent {asked}", identify(os.getpid()), request=asked
    )
    context = ToolContext(agents.store, agents.settings, who, agents.start)

    def validated(given: Json) -> Any:
        """What its validator says, which has answered once it has been started."""
        begun = call(context, "validate_task", given)
        return call(context, "get_validation_status", {"task_id": begun["taskId"]})

    for name, tool in TOOLS.items():
        run = validated if name == "validate_task" else partial(call, context, name)
        yield _tool(name, tool.about, tool.schema, run)


def _on_variables(agents: _Agents) -> Iterator[Tool]:
    begun = Kept("person", "the person (the agent began with it)")

    def change(given: Json) -> Json:
        holder = Holder.agent(agents.request.request_id)
        kept = dict.fromkeys(agents.request.variables, begun)
        kept |= kept_variables(agents.settings, agents.store)
        set_variables(agents.store, holder, given["values"], "model", kept=kept)
        return agents.variables

    yield _tool(
        "get_variables",
        "Your variables.",
        object_schema({}),
        lambda _: agents.variables,
    )
    yield _tool(
        "set_variables",
        "Set variables that belong to no person, rule or tool.",
        object_schema({"values": {"type": "object"}}, "values"),
        change,
    )


def _on_agents(agents: _Agents) -> Iterator[Tool]:
    about = "Have another agent do something; returns its answer."
    for name in ("spawn_agent", "start_agent"):
        yield _tool(name, about, _ASKED, agents.spawn)


def _tool(name: str, about: str, schema: Json, run: Callable[[Json], Any]) -> Tool:
    def called(arguments: Json) -> ToolResult:
        try:
            return ToolResult(orjson.dumps(run(arguments)).decode())
        except BridgeError as error:
            return refused(error)

    return Tool(f"{OWN_SERVER}{name}", about, schema, called)
