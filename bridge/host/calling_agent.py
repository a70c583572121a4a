"""Which agent this process runs under, whatever its folder and its environment.

A Bash call of an agent in a session is noted in the state of that session, not in that
of the folder in which the agent calls us: the session's pin says where. CLAUDE_PID and
our ancestors say which session it is; the kernel still knows the ancestors' environment
if a command was given another one (`env -i`). A process with neither belongs to no
session.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.config import Settings
from bridge.protocol.ids import RequestId, is_id
from bridge.routes import OWN, OwnRoute
from bridge.store.host_process import Environments, arguments_of, environments_above
from bridge.store.pins import Pins
from bridge.store.sessions import all_sessions
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.store.subagent_runs import AgentRun
    from bridge.store.tool_calls import RunningCall


class CallingAgent(NamedTuple):
    """The request of the agent that started us, and its depth.

    Of an agent in a session also its run, and the store that has it. `is_sure` is false
    if the main conversation may have started us.
    """

    request_id: str
    depth: int
    run: AgentRun | None = None
    store: Store | None = None
    is_sure: bool = True


class RequestOrigin(NamedTuple):
    """On whose behalf a request is made.

    `parent` is the request whose agent asks, `depth` how many agents stand above the
    new one, `variables` are those of the agent or the session, `requester` names the
    program; None: the one that runs here. `is_seen` if hooks saw the agent's call: it
    is not only the environment that names its request. `route` is the one on which a
    process of ours runs the agent; None if a session runs it, or it is unknown.
    """

    parent: str | None = None
    depth: int = 0
    variables: Mapping[str, Any] = MappingProxyType({})
    requester: str | None = None
    is_seen: bool = False
    route: OwnRoute | None = None


def asking_process(
    store: Store, settings: Settings, above: Environments | None = None
) -> RequestOrigin:
    """On whose behalf this process asks: an agent's that runs it, or its user's."""
    caller = find_caller(store, settings, above)
    variables = inherited_variables(store, settings.host_pid, caller)
    if caller is None:
        return RequestOrigin(variables=variables)
    if caller.store is not None:
        return RequestOrigin(
            caller.request_id, caller.depth + 1, variables, is_seen=True
        )
    found = store.find(RequestId(caller.request_id))
    served_on = found.request.served_on if found and found.request else None
    route = next((own for own in OWN if own == served_on), None)
    return RequestOrigin(caller.request_id, caller.depth + 1, variables, route=route)


def find_caller(
    store: Store, settings: Settings, above: Environments | None = None
) -> CallingAgent | None:
    """The agent that started us; None if none did.

    An agent in a session started us by a Bash call that hooks saw; the environment
    tells of an agent of `claude -p`: ours, or that of a process above us, which a
    command has not changed. `above`: the environments of the processes above us, if
    the caller knows them.
    """
    above = environments_above() if above is None else above
    told = [
        _parent(settings.parent_request, settings.parent_depth),
        *map(_parent_of, above.values()),
    ]
    # A command may have changed its own: a request that is here counts before others.
    found = [one for one in filter(None, told) if store.find(RequestId(one.request_id))]
    inherited = max(found or filter(None, told), key=lambda c: c.depth, default=None)
    clients = [*([] if settings.host_pid is None else [settings.host_pid]), *above]
    states = [(p, Store(place)) for p, place in Pins.of(settings).of_processes(clients)]
    if settings.host_pid is not None:
        # A session that began without a pin is looked for in this project.
        states.append((settings.host_pid, store))
    seen = [
        _caller(state, call)
        for pid, state in states
        if state.exists() and (call := _running_call(state, pid, [*above]))
    ]
    return max(seen, key=lambda caller: caller.depth, default=inherited)


def _running_call(store: Store, client: int, above: list[int]) -> RunningCall | None:
    # Late, like all that follows: a program in a shell of its own is in no session.
    from bridge.store.tool_calls import running_bash

    return running_bash(store, client, _shell(client, above))


def _caller(store: Store, call: RunningCall) -> CallingAgent:
    from bridge.store.subagent_runs import find_agent

    run = find_agent(store, call.agent_id)
    return CallingAgent(call.request_id, call.depth, run, store, call.is_sure)


def inherited_variables(
    store: Store, client: int | None, caller: CallingAgent | None
) -> dict[str, Any]:
    """The variables of the agent that asks here, or what was set in its session.

    `client` is the session's process, whose model or user asks if no agent does.
    """
    if caller is None and (client is None or not store.exists()):
        return {}
    from bridge.store.variables import Holder, values_of, variables_of

    if caller is not None:
        if caller.run is not None and caller.store is not None:
            return variables_of(caller.store, caller.run)
        found = store.find(RequestId(caller.request_id))
        if found is not None:
            begun = found.request.variables if found.request else {}
            return begun | values_of(store, Holder.agent(caller.request_id))
    # Also of an agent that nobody knows: only its environment names it.
    known: dict[str, Any] = {}
    for session in all_sessions(store):
        if session.host.pid == client:
            known |= values_of(store, Holder.session(session.session_id))
    return known


def _shell(client: int, above: list[int]) -> str:
    """The command line of the shell that the client started for us; empty if none."""
    if client not in above[1:]:
        return ""
    return " ".join(arguments_of(above[above.index(client) - 1]))


def _parent_of(variables: Mapping[str, str]) -> CallingAgent | None:
    """What the environment of a process above us says."""
    depth = variables.get("BRIDGE_DEPTH", "")
    known = depth.isascii() and depth.isdigit()
    return _parent(variables.get("BRIDGE_PARENT"), int(depth) if known else 0)


def _parent(parent: str | None, depth: int) -> CallingAgent | None:
    return CallingAgent(parent, depth) if parent is not None and is_id(parent) else None
