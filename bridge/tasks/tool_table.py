"""The tools on tasks: one table, for MCP, pipelines, step workflows and Python.

    call(context, "create_task", {"title": "Limit uploads"})

A changing call may carry a key: its result is kept in the transaction of the change, so
that a call that is repeated after a kill does nothing twice, and returns the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import getdoc
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ValidationError

from bridge.errors import InvalidRequest
from bridge.hints import close, did_you_mean
from bridge.protocol.record import first_problem
from bridge.protocol.wording import quoted
from bridge.tasks import calls
from bridge.tasks import tool_arguments as given
from bridge.tasks import tool_deeds as deeds
from bridge.tasks.tool_deeds import Deed, ToolContext

if TYPE_CHECKING:
    import sqlite3

__all__ = ["TOOLS", "Tool", "ToolContext", "UnknownTool", "call", "find_tool"]


class UnknownTool(InvalidRequest):
    """There is no tool of this name."""

    code = "unknown_tool"


class Tool(NamedTuple):
    """A tool: what it is for, what it takes, whether it changes anything.

    `deed` acts within one transaction; `run` is for those that need several, or none.
    """

    name: str
    about: str
    arguments: type[BaseModel]
    changes: bool
    deed: Deed | None = None
    run: Callable[[ToolContext, Any], Any] | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return self.arguments.model_json_schema(by_alias=False)


def _reads(deed: Deed, arguments: type[BaseModel]) -> Tool:
    return Tool(deed.__name__, getdoc(deed) or "", arguments, changes=False, deed=deed)


def _changes(deed: Deed, arguments: type[BaseModel]) -> Tool:
    return Tool(deed.__name__, getdoc(deed) or "", arguments, changes=True, deed=deed)


def _by_itself(
    run: Callable[[ToolContext, Any], Any],
    arguments: type[BaseModel],
    *,
    changes: bool = False,
) -> Tool:
    return Tool(run.__name__, getdoc(run) or "", arguments, changes, run=run)


# Their names are those of the functions, and what a model reads is their docstrings.
_ROWS = (
    _reads(deeds.get_task, given.OfTask),
    _reads(deeds.list_tasks, given.ListTasks),
    _by_itself(deeds.list_ready_tasks, given.ListReady),
    _changes(deeds.create_task, given.CreateTask),
    _changes(deeds.update_task, given.UpdateTask),
    _changes(deeds.claim_task, given.OfTask),
    _changes(deeds.release_task, given.Release),
    _changes(deeds.mark_task_needs_review, given.Review),
    _changes(deeds.escalate_task, given.Escalate),
    _changes(deeds.reopen_task, given.OfTask),
    _changes(deeds.close_task, given.Close),
    _changes(deeds.save_expansion_spec, given.SaveSpec),
    _reads(deeds.get_expansion_spec, given.OfTask),
    _changes(deeds.execute_expansion, given.Execute),
    _by_itself(deeds.validate_task, given.Validate, changes=True),
    _by_itself(deeds.get_validation_status, given.OfTask),
    _by_itself(deeds.get_validation_context_smart, given.OfTask),
    _changes(deeds.orchestrate_ready_tasks, given.Orchestrate),
    _by_itself(deeds.search_memories, given.Search),
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
    checked = checked_arguments(tool, arguments or {})
    if tool.deed is None:
        assert tool.run is not None  # noqa: S101 - the table: one of the two
        return tool.run(context._replace(key=key), checked)
    if not tool.changes:
        with context.database.read() as connection:
            return tool.deed(context, connection, checked)
    with context.database.write() as connection:
        return _once(context, connection, tool, checked, key)


def checked_arguments(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    """The arguments of a call, as the tool's own type.

    Raises:
        InvalidRequest: one is unknown, missing, or not what it must be.
    """
    try:
        return tool.arguments.model_validate(dict(arguments))
    except ValidationError as exc:
        raise InvalidRequest(_problem(tool, exc)) from None


def _problem(tool: Tool, exc: ValidationError) -> str:
    """What is wrong with arguments; a name that is misspelt first."""
    wrong = [e["loc"][-1] for e in exc.errors() if e["type"] == "extra_forbidden"]
    if not wrong:
        # A union has its members in the place, which say nothing to whoever calls.
        said = first_problem(exc)
        place, _, rest = said.partition(": ")
        return f"{tool.name}: {place.partition('.')[0]}: {rest}"
    known = [*tool.arguments.model_fields]
    hint = did_you_mean(str(wrong[0]), known) or f"; known: {', '.join(known)}"
    return f"{tool.name} has no argument {quoted(wrong[0])}{hint}"


def _once(
    context: ToolContext,
    connection: sqlite3.Connection,
    tool: Tool,
    checked: BaseModel,
    key: str | None,
) -> Any:
    assert tool.deed is not None  # noqa: S101 - `call`
    if key is None:
        return tool.deed(context, connection, checked)
    digest = calls.digest_of(checked.model_dump(mode="json"))
    if before := calls.remembered(connection, key, tool.name, digest):
        return before[0]
    result = tool.deed(context, connection, checked)
    now_ms = context.store.now_ms()
    calls.remember(connection, key, tool.name, digest, result, now_ms)
    return result
