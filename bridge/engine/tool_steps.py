"""Tools of a pipeline: called under the key of their step, so that it counts once."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.engine import marks
from bridge.engine.facts import why_failed
from bridge.engine.results import StepResult, put_result
from bridge.engine.run_ids import STARTED
from bridge.errors import InvalidRequest
from bridge.validation.names import BUILD_TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.agents.definition import Definition
    from bridge.config import Settings
    from bridge.engine.answers import Answers
    from bridge.engine.run import Details, Run
    from bridge.routes import RouteName
    from bridge.store.state import State
    from bridge.store.store import Store


class CallingRun(NamedTuple):
    """A run that calls a tool.

    `find` finds its agents' definitions; `on_asked` is called when a session could
    take what a tool has asked.
    """

    store: Store
    settings: Settings
    state: State
    run: Run
    details: Details
    answers: Answers
    find: Callable[[str, RouteName], Definition | None]
    on_asked: Callable[[], None]


def call_tool(caller: CallingRun, asked: str, node: str) -> None:
    """Call the tool of a step, and keep its result.

    Raises:
        ConditionError: its arguments cannot be decided.
        BridgeError: it could not do it.
    """
    tool = caller.details["details"][node]["tool"]
    arguments = caller.answers.evaluated(tool["arguments"])
    name, is_durable = tool["name"], True
    result: StepResult = {"how": "ok", "why": "", "output": arguments}
    if name == "fail":
        result = {"how": "error", "why": why_failed(arguments), "output": None}
    elif name in BUILD_TOOLS:
        from bridge.engine.build_tools import TOOLS, Calling

        now_ms = caller.state.now_ms()
        calling = Calling(caller.run, caller.details, caller.answers, now_ms)
        result["output"] = TOOLS[name](calling, arguments)
    elif name != "set":
        from bridge.tasks.tool_table import find_tool  # with SQLite

        result["output"] = _called(caller, asked, name, arguments)
        # What it changed is known by its key, and its result with it.
        is_durable = not find_tool(name).changes
    put_result(caller.state, caller.run["run"], asked, result, durable=is_durable)


def _called(caller: CallingRun, asked: str, name: str, arguments: Any) -> Any:
    from bridge.tasks.task import Holder
    from bridge.tasks.tool_table import call
    from bridge.tasks.tools import ToolContext

    if not isinstance(arguments, dict):
        raise InvalidRequest(f"{name}: arguments must be a mapping, got {arguments!r}")
    run = caller.run["run"]
    context = ToolContext(
        caller.store,
        caller.settings,
        Holder(assignee=f"run {run}", run=run),
        partial(_start_agent, caller),
    )
    return call(context, name, arguments, key=asked)


def _start_agent(
    caller: CallingRun,
    *,
    agent: str,
    prompt: str,
    schema: dict[str, Any] | None,
    task_id: str | None,
    dedup_key: str,
) -> str:
    """Ask an agent on behalf of a tool, once for each key; the id of its request."""
    from bridge.engine.asks import own_request

    state, run = caller.state, caller.run
    mark = hashlib.sha256(dedup_key.encode()).hexdigest()[:16]
    request_id = f"{run['run']}-{STARTED}{mark}"
    if marks.is_asked(state, run["run"], request_id):
        return request_id
    fields = {"prompt": prompt, "answer_schema": schema, "task_id": task_id}
    request = own_request(
        caller.store,
        caller.find,
        run,
        request_id,
        agent,
        {**fields, "dedup_key": dedup_key},
    )
    answering = marks.ask(state, run, request)
    if request.route == "host":
        caller.on_asked()
    return answering
