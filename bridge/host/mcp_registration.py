"""Register our MCP server with Claude Code, and remove it again.

    scope    the client keeps it in
    local    ~/.claude.json, under the project
    user     ~/.claude.json
    project  <project>/.mcp.json, a file to commit
    plugin   hooks/mcp.json, which is written by: python -m bridge.host.mcp_registration

A running client writes these files, too: they are read here, and the client itself is
asked to change them. That starts nothing of the folder. The server is found as hooks
are (`hook_table`), so an entry of `project` names no path of this machine.

Source: Claude Code docs, "MCP installation scopes"; measured on 2.1.330.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.config import Settings
from bridge.errors import BridgeError
from bridge.host.hook_table import PLUGIN, Form, Hook, kind_of
from bridge.host.install import SCOPES, enabled_plugins
from bridge.protocol.wording import in_shell
from bridge.store.location import Place
from bridge.store.pins import Pins
from bridge.store.plain_file import read_plain

if TYPE_CHECKING:
    from bridge.host.install import Scope

NAME = "hostbridge"
_SERVER = Hook("mcp", "mcp-server")
_TIMEOUT_S = 60


class NotRegistered(BridgeError):
    """The MCP server could not be registered with Claude Code, or not removed."""

    code = "mcp_not_registered"


def entry(form: Form) -> dict[str, Any]:
    """How the client starts the server."""
    return {"type": "stdio", "command": "/bin/sh", "args": form.arguments(_SERVER)}


def find(settings: Settings, place: Place, scope: Scope) -> object:
    """What is registered under our name; None if nothing is, or it cannot be read."""
    file = settings.claude_record
    keys = {"local": ("projects", str(place.owner)), "user": (), "project": ()}[scope]
    if scope == "project":
        file = place.project / ".mcp.json"
    try:
        found = json.loads(read_plain(file))
        for key in (*keys, "mcpServers", NAME):
            found = found[key]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None
    return found


def is_ours(settings: Settings, place: Place, scope: Scope) -> bool:
    """Whether our server is registered, as this or another hostbridge did it."""
    return kind_of(find(settings, place, scope)) is not None


def is_there(settings: Settings, place: Place) -> bool:
    """Whether new sessions of a project get the server, or one in its place."""
    registered = any(find(settings, place, scope) is not None for scope in SCOPES)
    return (
        registered
        or bool(enabled_plugins(settings, place.project))
        or Pins(place.guard).acts(PLUGIN.kind, place)
    )


def is_current(settings: Settings, place: Place, scope: Scope, form: Form) -> bool:
    """Whether it is registered as it should be."""
    return find(settings, place, scope) == entry(form)


def register(settings: Settings, place: Place, scope: Scope, form: Form) -> None:
    """Register the server, unless it is registered as it should be.

    Raises:
        NotRegistered: the client is missing or refuses, or another server has our name.
    """
    if is_current(settings, place, scope, form):
        return
    if find(settings, place, scope) is not None:
        if not is_ours(settings, place, scope):
            raise NotRegistered(
                f"another MCP server is called {NAME} in scope {scope}; it stays",
                ways=(f"claude mcp remove --scope {scope} {NAME}, then install again",),
            )
        _ask_client(place.project, ["remove", "--scope", scope, NAME])
    wanted = json.dumps(entry(form))
    _ask_client(place.project, ["add-json", "--scope", scope, NAME, wanted])


def unregister(settings: Settings, place: Place, scope: Scope) -> bool:
    """Remove the server if it is ours; returns whether it was there.

    Raises:
        NotRegistered: the client is missing, or refuses.
    """
    if not is_ours(settings, place, scope):
        return False
    _ask_client(place.project, ["remove", "--scope", scope, NAME])
    return True


def _ask_client(project: Path, words: list[str]) -> None:
    command = ["claude", "mcp", *words]
    program = shutil.which("claude")
    why = "no `claude` on PATH, which keeps the list of MCP servers"
    if program is not None:
        try:
            done = subprocess.run(
                [program, *command[1:]],
                cwd=project,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as exc:
            why = f"{program}: {exc}"
        else:
            if done.returncode == 0:
                return
            said = (done.stderr or done.stdout).decode(errors="replace")
            why = f"{program} says: {' '.join(said.split())}"
    raise NotRegistered(why, ways=(f"in {project}: {in_shell(*command)}",))


if __name__ == "__main__":
    table = {"mcpServers": {NAME: entry(PLUGIN)}}
    print(json.dumps(table, indent=2))  # noqa: T201 - this is how the file is made
