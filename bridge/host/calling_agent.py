"""Which agent this process runs under, whatever its folder and its environment.

A Bash call of an agent in a session is noted in the state of that session, not in that
of the folder in which the agent calls us: the session's pin says where. CLAUDE_PID and
our ancestors say which session it is; the kernel still knows the ancestors' environment
if a command was given another one (`env -i`). A process with neither belongs to no
session.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from bridge.host.pins import Pins
from bridge.protocol.ids import is_id
from bridge.store import tool_calls
from bridge.store.host_process import ancestors_of, arguments_of, environment_of
from bridge.store.sessions import all_sessions
from bridge.store.store import Store
from bridge.store.variables import Holder, read_variables

if TYPE_CHECKING:
    from bridge.config import Settings

Parent = tuple[str, int]


def find_parent(store: Store, settings: Settings) -> Parent | None:
    """The request of the agent that started us, and its depth.

    An agent in a session started us by a Bash call that hooks saw; the environment
    tells of an agent of `claude -p`.
    """
    above = ancestors_of(os.getpid())
    inherited = _parent(settings.parent_request, settings.parent_depth)
    if inherited is None:
        inherited = next(filter(None, (_parent_of(pid) for pid in above)), None)
    clients = [*([] if settings.host_pid is None else [settings.host_pid]), *above]
    seen = [
        found
        for pid in clients
        for state in _states(store, settings, pid)
        if (found := tool_calls.running_bash_depth(state, pid, _shell(pid, above)))
    ]
    return max(seen, key=lambda parent: parent[1], default=inherited)


def session_variables(store: Store, client: int | None) -> dict[str, Any]:
    """What was set in the session of a client, whose model or user asks here."""
    if client is None or not store.exists():
        return {}
    found: dict[str, Any] = {}
    for session in all_sessions(store):
        if session.host.pid == client:
            known = read_variables(store, Holder.session(session.session_id))
            found |= {name: each.value for name, each in known.items()}
    return found


def _states(store: Store, settings: Settings, pid: int) -> list[Store]:
    """Where calls of a process's agents are noted, if it is a client."""
    pinned = [Store(place) for place in Pins.of(settings).of_process(pid)]
    # A session that began without a pin is looked for in this project.
    own = [store] if pid == settings.host_pid else []
    return [each for each in (*pinned, *own) if each.exists()]


def _shell(client: int, above: list[int]) -> str:
    """The command line of the shell that the client started for us; empty if none."""
    if client not in above[1:]:
        return ""
    return " ".join(arguments_of(above[above.index(client) - 1]))


def _parent_of(pid: int) -> Parent | None:
    """What the environment of a process above says, of those who can be asked."""
    variables = environment_of(pid)
    depth = variables.get("BRIDGE_DEPTH", "")
    known = depth.isascii() and depth.isdigit()
    return _parent(variables.get("BRIDGE_PARENT"), int(depth) if known else 0)


def _parent(parent: str | None, depth: int) -> Parent | None:
    return (parent, depth) if parent is not None and is_id(parent) else None
