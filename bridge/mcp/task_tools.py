"""The tools on tasks over MCP, called for whoever makes the call.

A claim over MCP belongs to the session that calls, or to its agent, and ends with the
session's process, an agent's with its request, too; an agent of a run acts for the run.
Export and import are not here.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Unpack

import mcp_types
import orjson

from bridge.api.task_tools import call_tool
from bridge.mcp.results import MAX_ANSWER_BYTES, MAX_TEXT_CHARS
from bridge.mcp.starting import Wanted, next_step, start
from bridge.mcp.tools import Call
from bridge.protocol.ids import RequestId
from bridge.protocol.wording import in_shell, shortened
from bridge.store.host_process import identify as process_of
from bridge.tasks.claims import holder_in, holder_of_run
from bridge.tasks.task import Holder

if TYPE_CHECKING:
    from bridge.api.project import Project
    from bridge.mcp.caller import Caller
    from bridge.tasks.validation import Asked, StartAgent


# What a task can say at length, and how much of it a list has if it is too long.
_LONG = ("description", "validationCriteria", "reason")
_TEXT_CHARS = 200


def call_on_tasks(
    call: Call, name: str, arguments: dict[str, Any]
) -> mcp_types.CallToolResult:
    """Call one of them for whoever makes this call.

    Raises:
        BridgeError: it is refused.
    """
    bridge, caller = call.bridge, call.caller
    found = call_tool(
        bridge.store, bridge.settings, name, arguments,
        holder=holder_of(bridge, caller), start=_starter(call),
    )  # fmt: skip
    if request_id := found.get("requestId"):
        # A session that calls has to start its own agent.
        asked = bridge.store.find(RequestId(request_id))
        found["next"] = next_step(bridge, asked, caller) if asked else None
    found = _fitting(found)
    text = orjson.dumps(found).decode()
    is_cut = len(text) > MAX_TEXT_CHARS
    return mcp_types.CallToolResult(
        content=[
            mcp_types.TextContent(
                type="text", text=text[:MAX_TEXT_CHARS] + ("…" if is_cut else "")
            )
        ],
        structured_content=found,
    )


def _fitting(found: dict[str, Any]) -> dict[str, Any]:
    """A result, the texts of many tasks shortened if all of them would be too long.

    A task may have a million characters, which would fill the context of whoever looks
    what there is to do.
    """
    tasks = found.get("tasks")
    if not tasks or len(orjson.dumps(found)) <= MAX_ANSWER_BYTES:
        return found
    short = [
        task | {name: shortened(task[name], _TEXT_CHARS) for name in _LONG}
        for task in tasks
    ]
    return found | {"tasks": short, "note": "long texts are cut: get_task has them"}


def _starter(call: Call) -> StartAgent:
    """What starts agents as start_agent does, in the name of whoever calls."""

    def begin(**asked: Unpack[Asked]) -> str:
        task_id = asked["task_id"]
        options = {"task_id": task_id, "dedup_key": asked["dedup_key"]}
        validate = ("hostbridge", "task", "validate", task_id, "--route", "claude")
        wanted = Wanted(
            asked["prompt"], asked["agent"], None, asked["schema"], options,
            in_shell(*validate),
        )  # fmt: skip
        return start(call.bridge, call.caller, wanted, call.serving).request_id

    return begin


def holder_of(project: Project, caller: Caller) -> Holder:
    """As whom a caller claims."""
    if found := holder_of_run(project.store, caller.asking.parent):
        return found
    session = caller.session
    if session is None:
        # The server ends with its client.
        return Holder(caller.asking.requester or "a program", process_of(os.getpid()))
    return holder_in(session, caller.agent_id, caller.asking.parent)
