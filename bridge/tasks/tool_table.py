"""The tools on tasks: one table, for MCP, pipelines, step workflows and Python.

    call(context, "create_task", {"title": "Limit uploads"})

A changing call may carry a key: its result is kept in the transaction of the change, so
that a call that is repeated after a kill does nothing twice, and returns the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bridge.errors import InvalidRequest
from bridge.hints import close
from bridge.operation import Operation
from bridge.protocol.wording import quoted
from bridge.tasks import calls, tools
from bridge.tasks.task import NewTask
from bridge.tasks.task_data import json_form
from bridge.tasks.tasks import Tasks
from bridge.tasks.tools import ToolContext

__all__ = ["TOOLS", "Tool", "ToolContext", "UnknownTool", "call", "find_tool"]


class UnknownTool(InvalidRequest):
    """There is no tool of this name."""

    code = "unknown_tool"


class Tool(Operation):
    """A tool on tasks; one that is not `alone` is done within one transaction."""

    def __init__(
        self, deed: Callable[..., Any], *, alone: bool = False, **more: Any
    ) -> None:
        super().__init__(deed, **more)
        self.alone = alone
        self._is_verb = deed is vars(Tasks).get(deed.__name__)

    def call(self, where: ToolContext, checked: Any) -> Any:
        """Do it; what it gives, as JSON values."""
        result = super().call(where.tasks if self._is_verb else where, checked)
        if isinstance(result, list):
            result = {"tasks": result, "count": len(result)}
        return json_form(result)


def _verb(deed: Callable[..., Any], name: str, **more: Any) -> Tool:
    """The tool that a verb of `Tasks` is, for whoever calls."""
    return Tool(deed, name=name, without=("holder",), **more)


_ROWS = (
    _verb(Tasks.get, "get_task"),
    Tool(tools.list_tasks),
    Tool(tools.list_ready_tasks, alone=True),
    Tool(tools.create_task, changes=True, defaults=NewTask._field_defaults),
    Tool(tools.update_task, changes=True),
    _verb(Tasks.claim, "claim_task", changes=True),
    _verb(Tasks.release, "release_task", changes=True),
    _verb(Tasks.review, "mark_task_needs_review", changes=True),
    _verb(Tasks.escalate, "escalate_task", changes=True),
    _verb(Tasks.reopen, "reopen_task", changes=True),
    _verb(Tasks.close, "close_task", changes=True),
    Tool(tools.save_expansion_spec, changes=True),
    Tool(tools.get_expansion_spec),
    Tool(tools.execute_expansion, changes=True),
    Tool(tools.validate_task, changes=True, alone=True),
    Tool(tools.get_validation_status, alone=True),
    Tool(tools.get_validation_context_smart, alone=True),
    Tool(tools.orchestrate_ready_tasks, changes=True),
    Tool(tools.search_memories, alone=True),
)
# What others call it.
ELSEWHERE = {
    "suggest_next_task": "list_ready_tasks",
    "suggest_next_tasks": "list_ready_tasks",
    "validate_expansion_spec": "save_expansion_spec",
    "mark_task_review_approved": "close_task",
}
TOOLS: dict[str, Tool] = {tool.name: tool for tool in _ROWS}


def find_tool(name: str) -> Tool:
    """The tool of this name.

    Raises:
        UnknownTool: there is none.
    """
    if name in TOOLS:
        return TOOLS[name]
    near = close(str(name), TOOLS)
    near = [ELSEWHERE[name]] if name in ELSEWHERE else near
    hint = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(TOOLS)}"
    raise UnknownTool(f"there is no tool {quoted(name)}{hint}")


def call(
    context: ToolContext,
    name: str,
    arguments: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> Any:
    """Call a tool; its result, as JSON values.

    With a `key`, a changing call is done once: repeated, it returns the first result.

    Raises:
        UnknownTool: there is no such tool.
        InvalidRequest: an argument is not what it must be; nothing was done.
        KeyUsed: the key stands for another call; nothing was done.
        BridgeError: the tool refuses, or the tasks cannot be used.
    """
    tool = find_tool(name)
    checked = tool.checked(arguments or {})
    if tool.alone:
        return tool.call(context._replace(key=key), checked)
    database = context.database
    with database.write() if tool.changes else database.read() as transaction:
        context = context._replace(transaction=transaction)
        if not tool.changes or key is None:
            return tool.call(context, checked)
        digest = calls.digest_of(checked.model_dump(mode="json"))
        if before := calls.remembered(transaction, key, tool.name, digest):
            return before[0]
        result = tool.call(context, checked)
        now_ms = context.store.now_ms()
        calls.remember(transaction, key, tool.name, digest, result, now_ms)
        return result
