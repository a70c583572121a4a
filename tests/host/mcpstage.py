"""Our MCP server in a world with the real client, and a model that calls its tools."""

import json
import sys
from typing import Any

import forkserver
from hostworld import HostWorld

from bridge.host.hook_table import form_of
from bridge.host.mcp_registration import NAME, entry
from bridge.shipped import hooks_folder
from bridge.testing.stage.api import Script
from bridge.testing.stage.models import launch, new_tokens
from bridge.testing.stage.replies import Reply, ToolUse, reply, tool_use
from bridge.testing.stage.turns import ApiRequest

OURS = "mcp__hostbridge__"


# The client has started who asks for the server, not who forks it.
FORKED = f'{forkserver.BELOW}=$PPID exec "$@"'


def register(world: HostWorld, *, starts_python: bool | None = None) -> None:
    """Register the server, as `claude mcp add-json --scope local` does.

    It is forked, since importing what it needs takes two seconds, unless this test
    starts hooks for real, too (`forkserver.starts_python`).
    """
    file = world.stage.home / ".claude.json"
    known = json.loads(file.read_text())
    server = entry(form_of("local", hooks_folder(), sys.executable))
    if not (forkserver.starts_python if starts_python is None else starts_python):
        command = forkserver.command("mcp", room="mcp")
        server["args"] = ["-c", FORKED, "sh", *command]
    project = known["projects"][str(world.stage.project)]
    project["mcpServers"] = {NAME: server}
    file.write_text(json.dumps(known))


def calling(
    *calls: tuple[str, Any], word: str = "please", prefix: str = OURS
) -> Script:
    """A thread that, once it is told `word`, calls these tools, one a turn.

    The tools are deferred: it looks for each before it calls it, until the server is
    there. It launches whatever agent it is told to launch. What a tool takes may be
    made from the conversation so far.
    """
    left = list(calls)

    def script(request: ApiRequest) -> Reply:
        if tokens := new_tokens(request):
            return reply(*map(launch, tokens))
        if not left or word not in said(request):
            return reply("ok")
        tool, arguments = left[0]
        if prefix + tool not in request.tools:
            query = {"query": f"select:{prefix}{tool}", "max_results": 5}
            # While the server starts there is nothing to be found.
            return Reply((tool_use("ToolSearch", query),), delay_s=0.2)
        left.pop(0)
        given = arguments(request) if callable(arguments) else arguments
        return reply(ToolUse(prefix + tool, given))

    return script


def said(request: ApiRequest) -> str:
    """All that a model was told."""
    return json.dumps([request.messages])


def results(world: HostWorld) -> list[str]:
    """What the main thread's calls gave, oldest first, without searches for tools."""
    return results_of(world.api.turns("main"))


def results_of(turns: list[ApiRequest]) -> list[str]:
    """The same of these turns of a model."""
    calls = [call for turn in turns for call in turn.own_calls]
    searches = {call["id"] for call in calls if call["name"] == "ToolSearch"}
    found = [result for turn in turns for result in turn.tool_results]
    return [each.text for each in found if each.call_id not in searches]


def request_id(request: ApiRequest) -> str:
    """The id in the result of start_agent."""
    return said(request).partition("request_id")[2].split('"')[2].rstrip("\\")
