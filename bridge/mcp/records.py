"""Requests as resources, and definitions as prompts."""

from collections.abc import Mapping
from typing import Any

import mcp_types
import orjson
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from bridge.agents.definition import Definition
from bridge.agents.known_agents import Agents
from bridge.agents.templates import keys_in
from bridge.api.project import Project
from bridge.api.request_builder import draft
from bridge.errors import BridgeError, InvalidRequest
from bridge.mcp.results import uri_of

URI = uri_of("{request_id}")
JSON = "application/json"
MAX_BYTES = 1_000_000
_MAX_TITLE = 120


def list_requests(project: Project) -> list[mcp_types.Resource]:
    """Those that have not ended, and the last that did."""
    seen = project.overview()
    live = [
        _resource(each.request_id, f"{each.agent}, {each.stage}: {each.excerpt}")
        for each in seen.requests
    ]
    return live + [
        _resource(
            each.request_id, f"{each.agent}, {each.code or each.status}: {each.excerpt}"
        )
        for each in seen.last
    ]


def _resource(request_id: str, title: str) -> mcp_types.Resource:
    return mcp_types.Resource(
        uri=uri_of(request_id),
        name=request_id,
        title=title[:_MAX_TITLE],
        mime_type=JSON,
    )


def read_request(project: Project, request_id: str) -> str:
    """The request and its response, as they are on disk.

    Raises:
        ResourceNotFoundError: there is no such request.
        ResourceError: it is too long to be sent.
    """
    try:
        found = project.status(request_id)
    except BridgeError as exc:
        raise ResourceNotFoundError(str(exc)) from None
    record: dict[str, Any] = {
        "request": found.request.to_data() if found.request else None,
        "response": found.response.to_data() if found.response else None,
    }
    text = orjson.dumps(record, option=orjson.OPT_INDENT_2)
    if len(text) > MAX_BYTES:
        raise ResourceError(
            f"request {request_id} and its response are longer than {MAX_BYTES} bytes; "
            f"read them with: hostbridge show {request_id} --json"
        )
    return text.decode()


def list_agents(project: Project) -> list[mcp_types.Prompt]:
    """A prompt for each definition that can be used."""
    agents = Agents.open(project.settings, project.store.place.project)
    return [
        mcp_types.Prompt(
            name=definition.name,
            description=definition.description or None,
            arguments=_arguments(definition),
        )
        for entry in agents.entries()
        if entry.is_used and entry.is_trusted
        if (definition := entry.loaded.definition) is not None and definition.routes
    ]


def _arguments(definition: Definition) -> list[mcp_types.PromptArgument]:
    templates = (definition.node_context, definition.prompt)
    read = [keys_in(each, "arguments") or () for each in templates if each]
    names = sorted({name for keys in read for name in keys} - {"task"})
    task = mcp_types.PromptArgument(
        name="task", description="What it is to do.", required=True
    )
    return [task, *(mcp_types.PromptArgument(name=name) for name in names)]


def agent_prompt(
    project: Project, name: str, arguments: Mapping[str, str]
) -> mcp_types.GetPromptResult:
    """What an agent would read: its definition's prompt, filled in.

    Raises:
        BridgeError: there is no such agent, or its prompt needs something else.
    """
    given = dict(arguments)
    task = given.pop("task", "")
    store, settings = project.store, project.settings
    begun = draft(store, settings, task, name, None, {"arguments": given})
    if not begun.routes:
        raise InvalidRequest(f"agent {name!r} has no prompt of its own")
    text = begun.on(begun.routes[0]).spoken
    content = mcp_types.TextContent(type="text", text=text)
    return mcp_types.GetPromptResult(
        messages=[mcp_types.PromptMessage(role="user", content=content)]
    )
