"""Build the request that a program asks for, checked before anything is written."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.agents.known_agents import Agents
from bridge.api.options import check_time
from bridge.api.request_draft import Draft
from bridge.config import Settings
from bridge.errors import DepthExceeded, InvalidRequest
from bridge.protocol.ids import (
    PRIORITIES,
    RequestId,
    check_id,
    is_id,
    new_request_id,
)
from bridge.protocol.question import KEY
from bridge.protocol.request import Node, Request
from bridge.protocol.trace_context import find_context
from bridge.protocol.type_checks import check
from bridge.protocol.wording import one_line
from bridge.store.clock import uptime
from bridge.store.host_process import environments_above, name_of
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.host.calling_agent import RequestOrigin

_MAX_REQUESTER = 60
# For an agent whose definition says all that there is to do.
_BEGIN = "Begin."
# Options that are no fields of a request, or are fields of another form.
_OTHERWISE = ("route", "request_id", "context", "context_from")
# If we were started as one of these, our parent is the program that asks.
_OURSELVES = frozenset({"hostbridge", "__main__.py"})


def draft(
    store: Store,
    settings: Settings,
    prompt: str,
    agent: str,
    schema: object,
    options: Mapping[str, Any],
    asking: RequestOrigin | None = None,
) -> Draft:
    """Begin a request; `options` are those of `Bridge.submit`, checked.

    `asking` says on whose behalf, by default on that of this process.

    Raises:
        UnknownAgent: there is no such agent.
        BadDefinition, NotTrusted: its definition cannot be used.
        InvalidRequest: the schema, the prompt, the node, the id or a number is not
            acceptable.
        InvalidWorkflow: the workflow that it works through has errors.
        UnknownRequest, CannotContinue: what it continues is not there, or has no agent
            that can be asked again.
        NotYours: a model asks, and gives a variable that is not its own.
        DepthExceeded: too many agents stand above it.
    """
    check(prompt=prompt, agent=agent)
    fields = _given(options, store.place.project)
    if options.get("continues") is not None:
        from bridge.api.follow_up import filled_from

        agent, fields = filled_from(store, agent, fields, options)
    agents = Agents.open(settings, store.place.project)
    definition = agents.find(agent)
    if not prompt.strip():
        prompt = _prompt_without(store, definition, options)
    timeout_s = options.get("timeout_s")
    if schema is not None:
        fields["answer_schema"] = _checked_schema(schema)
    fields["timeout"] = None if timeout_s is None else _milliseconds(timeout_s)
    fields = {name: value for name, value in fields.items() if value is not None}
    if definition is not None:
        from bridge.agents.apply import choices

        fields = choices(definition) | fields
        workflow = fields.get("workflow")
        _check_workflow(settings, store.place.project, definition, workflow)
    from bridge.bound.session_above import at_most, session_above
    from bridge.host.calling_agent import asking_process

    if given := fields.get("variables"):
        from bridge.api.variables import check_given

        check_given(store, settings, given, is_checked=asking is not None)
    ancestors = environments_above()
    if asking is None:
        asking = asking_process(store, settings, ancestors)
    above = session_above(store, settings, ancestors)
    _check_depth(asking.depth, at_most(settings, above, "max_depth"))
    fields |= _of_asker(store, settings, asking)
    now_us = store.clock.now_us()
    request_id = options.get("request_id")
    if request_id is not None:
        check_id(request_id)
    priority = fields.get("priority", "normal")
    _check_fields(priority, fields)
    request = Request.checked(
        request_id=request_id or new_request_id(now_us, priority),
        agent_type=agent,
        prompt=prompt,
        created_at=now_us // 1000,
        uptime=uptime(store.clock),
        requester=settings.requester or asking.requester or _default_requester(),
        asker=None if asking.is_seen or above is None else above.session.session_id,
        parent_request_id=asking.parent,
        depth=asking.depth,
        **fields,
    )
    is_model_asked = options.get("model") is not None
    fan_out = at_most(settings, above, "fan_out")
    return Draft(
        request,
        definition,
        store,
        settings,
        agents,
        is_model_asked,
        above,
        fan_out,
        asking.variables,
        asking.route,
    )


def _check_depth(depth: int, most: int) -> None:
    if depth > most:
        from bridge.protocol.failure_codes import CURES

        raise DepthExceeded(
            f"{depth} agents stand above this request; {most} is the limit (max_depth)",
            ways=(CURES["depth"],),
        )


def _check_fields(priority: str, fields: Mapping[str, Any]) -> None:
    """Refuse what is no priority, and a schema whose answers could be questions."""
    if priority not in PRIORITIES:
        expected = ", ".join(PRIORITIES)
        raise InvalidRequest(f"priority {priority!r}: expected one of {expected}")
    if fields.get("may_ask") and KEY in str(fields.get("answer_schema")):
        raise InvalidRequest(
            f"the schema names {KEY!r}, by which an agent that may ask asks; choose "
            "another name"
        )


def _given(options: Mapping[str, Any], project: Path) -> dict[str, Any]:
    """The fields of a request that options set as they are, or nearly."""
    fields = {
        name: value
        for name, value in options.items()
        if name in Request.fields and name not in _OTHERWISE
    }
    fields["context_from"] = options.get("context")
    if fields["context_from"] and options.get("fallback_after_s") is not None:
        raise InvalidRequest(
            "only a session has its conversation, so there is nothing to fall back to; "
            "leave fallback_after_s out"
        )
    if (change := options.get("change")) is not None:
        fields["context"] = change.as_context()
    fields["node"] = _node(options.get("node"), project)
    # Where the caller does not let the agent ask, its definition says.
    fields["may_ask"] = options.get("may_ask") or None
    return fields


def _of_asker(
    store: Store, settings: Settings, asking: RequestOrigin
) -> dict[str, Any]:
    """What a request has of the agent or the program that asks."""
    if not asking.depth:
        is_traced = find_context(settings.traceparent) is not None
        return {"traceparent": settings.traceparent} if is_traced else {}
    # The agent holds a slot while it waits.
    fields: dict[str, Any] = {"priority": "high"}
    parent = asking.parent
    found = store.find(RequestId(parent)) if parent and is_id(parent) else None
    if found and found.request and found.request.folder:
        # Where it works, if not in the project, is where its own agents work.
        fields["folder"] = found.request.folder
    return fields


def _check_workflow(
    settings: Settings, project: Path, definition: Definition, asked: str | None
) -> None:
    """Refuse an agent that could not begin its workflow, before anything is written."""
    from bridge.agents.apply import workflow_for

    if (wanted := workflow_for(definition, asked)) is not None:
        from bridge.bound.conversations import compiled

        compiled(settings, project, wanted)


def _prompt_without(
    store: Store, definition: Definition | None, options: Mapping[str, Any]
) -> str:
    """What an agent is asked that is told nothing: its task, or to do as it is written.

    Raises:
        InvalidRequest: no task is named, or there is no such task; and the agent needs
            to be told something.
    """
    if (task_id := options.get("task_id")) is not None:
        from bridge.tasks.task_data import prompt_of

        return prompt_of(store, task_id)
    if options.get("continues") is None and definition is not None:
        from bridge.agents.prompt import needs_task

        if not needs_task(definition):
            return _BEGIN
    raise InvalidRequest("the prompt is empty")


def _default_requester() -> str:
    """The program's name and pid, such as `pytest (pid 4711)`.

    For the command line that is the program that ran it: a shell, make, a script.
    """
    program, pid = os.path.basename(sys.argv[0] or ""), os.getpid()
    if program in _OURSELVES:
        pid = os.getppid()
        program = name_of(pid) or "a program"
    if program in ("", "-c", "-m"):
        program = "python"
    return one_line(f"{program} (pid {pid})", _MAX_REQUESTER)


def _node(node: str | Node | None, project: Path) -> Node | None:
    if not isinstance(node, str):
        return node
    from bridge.nodes.lookup import find_node

    return find_node(node, project)


def _checked_schema(form: object) -> dict[str, Any] | None:
    """The JSON Schema of the form of the answer, itself checked."""
    if form is None:
        return None
    from bridge.api.result import schema_of
    from bridge.protocol.json_schema import problem_of_schema
    from bridge.protocol.keywords import constrains_nothing, misspelt_keywords

    schema = schema_of(form)
    problem = problem_of_schema(schema)
    if problem:
        raise InvalidRequest(f"the schema is not a JSON Schema: {problem}")
    if constrains_nothing(schema):
        raise InvalidRequest(
            f"the schema allows anything: {next(misspelt_keywords(schema))}"
        )
    return schema


def _milliseconds(timeout_s: float) -> int:
    check_time("timeout_s", timeout_s)
    return max(1, int(timeout_s * 1000))
