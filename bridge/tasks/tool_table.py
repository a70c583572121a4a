"""The tools on tasks: one table, for MCP, pipelines, step workflows and Python.

    call(context, "create_task", {"title": "Limit uploads"})

A changing call may carry a key: its result is kept in the transaction of the change, so
that a call that is repeated after a kill does nothing twice, and returns the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, getdoc, signature
from typing import Any, NamedTuple, get_args, get_type_hints

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    model_validator,
)

from bridge.errors import InvalidRequest
from bridge.hints import close, did_you_mean
from bridge.protocol.plain_types import camel_case
from bridge.protocol.record import first_problem
from bridge.protocol.wording import quoted
from bridge.tasks import calls, tools
from bridge.tasks.task import NewTask
from bridge.tasks.task_data import json_form
from bridge.tasks.tools import ToolContext

__all__ = ["TOOLS", "Tool", "ToolContext", "UnknownTool", "call", "find_tool"]

# Taken and not looked at: pipelines that were written for other systems say who calls.
IGNORED = ("session_id", "project")
# What some of them call an argument: of one tool, or of any.
_ALSO = {
    "parent": ("parent_task_id",),
    "category": ("task_type",),
    "execute_expansion.task_id": ("parent_task_id",),
    "close_task.reason": ("changes_summary",),
    "orchestrate_ready_tasks.parent_task_id": ("task_id", "parent"),
}
_Deed = Callable[..., Any]


class UnknownTool(InvalidRequest):
    """There is no tool of this name."""

    code = "unknown_tool"


class Arguments(BaseModel):
    """The arguments of a tool: those it names, and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_ignored(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        known = cls.model_fields
        return {n: v for n, v in given.items() if n not in IGNORED or n in known}


class Tool(NamedTuple):
    """A tool: what it is for, what it takes, whether it changes anything.

    One that is not `alone` is done within one transaction.
    """

    deed: _Deed
    arguments: type[BaseModel]
    changes: bool
    alone: bool

    @property
    def name(self) -> str:
        """How it is called."""
        return self.deed.__name__

    @property
    def about(self) -> str:
        """What a model reads of it."""
        return getdoc(self.deed) or ""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return self.arguments.model_json_schema(by_alias=False)


def _tool(
    deed: _Deed,
    *,
    changes: bool = False,
    alone: bool = False,
    defaults: Mapping[str, Any] = {},
) -> Tool:
    """The tool that a function is; `defaults` are those of its `**` parameter."""
    fields: dict[str, Any] = {}
    hints = get_type_hints(deed, include_extras=True)
    for name, parameter in [*signature(deed).parameters.items()][1:]:
        if parameter.kind is Parameter.VAR_KEYWORD:
            (content,) = get_args(hints[name])
            for each, kind in get_type_hints(content, include_extras=True).items():
                fields[each] = _argument(deed, each, kind, defaults.get(each))
        else:
            is_needed = parameter.default is Parameter.empty
            default = ... if is_needed else parameter.default
            fields[name] = _argument(deed, name, hints[name], default)
    arguments = create_model(deed.__name__, __base__=Arguments, **fields)
    return Tool(deed, arguments, changes, alone)


def _argument(deed: _Deed, name: str, kind: Any, default: Any) -> tuple[Any, Any]:
    """An argument, as pydantic has it: its type with its description, and the rest."""
    about = [each for each in get_args(kind) if isinstance(each, str)]
    also = _ALSO.get(f"{deed.__name__}.{name}", _ALSO.get(name, ()))
    field = Field(
        default,
        description=about[0] if about else None,
        # As results spell it, too, so that what a tool gave can be given back.
        validation_alias=AliasChoices(*dict.fromkeys((name, *also, camel_case(name)))),
    )
    return (kind | None if default is None else kind), field


_ROWS = (
    _tool(tools.get_task),
    _tool(tools.list_tasks),
    _tool(tools.list_ready_tasks, alone=True),
    _tool(tools.create_task, changes=True, defaults=NewTask._field_defaults),
    _tool(tools.update_task, changes=True),
    _tool(tools.claim_task, changes=True),
    _tool(tools.release_task, changes=True),
    _tool(tools.mark_task_needs_review, changes=True),
    _tool(tools.escalate_task, changes=True),
    _tool(tools.reopen_task, changes=True),
    _tool(tools.close_task, changes=True),
    _tool(tools.save_expansion_spec, changes=True),
    _tool(tools.get_expansion_spec),
    _tool(tools.execute_expansion, changes=True),
    _tool(tools.validate_task, changes=True, alone=True),
    _tool(tools.get_validation_status, alone=True),
    _tool(tools.get_validation_context_smart, alone=True),
    _tool(tools.orchestrate_ready_tasks, changes=True),
    _tool(tools.search_memories, alone=True),
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
    if tool.alone:
        return _result(tool, context._replace(key=key), checked)
    database = context.database
    with database.write() if tool.changes else database.read() as transaction:
        context = context._replace(transaction=transaction)
        if not tool.changes or key is None:
            return _result(tool, context, checked)
        digest = calls.digest_of(checked.model_dump(mode="json"))
        if before := calls.remembered(transaction, key, tool.name, digest):
            return before[0]
        result = _result(tool, context, checked)
        now_ms = context.store.now_ms()
        calls.remember(transaction, key, tool.name, digest, result, now_ms)
        return result


def _result(tool: Tool, context: ToolContext, checked: BaseModel) -> Any:
    """What a tool gives, as JSON values."""
    given = {name: value for name, value in checked if value is not None}
    result = tool.deed(context, **given)
    if isinstance(result, list):
        result = {"tasks": result, "count": len(result)}
    return json_form(result)


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
