"""Who calls a tool: an agent of an open session, its main thread, or another program.

Claude Code puts the id of its tool call into the call, and a hook has written down who
made it. A call without such an id comes from another client, and asks as the command
line does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.errors import BridgeError
from bridge.host.calling_agent import Asking, asking_process
from bridge.host.handover import can_start
from bridge.host.mcp_callers import find_caller
from bridge.host.output import one_line
from bridge.store.sessions import open_session
from bridge.store.subagent_runs import find_agent
from bridge.store.variables import Holder, read_variables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.api.project import Project
    from bridge.store.sessions import Session
    from bridge.store.store import Store
    from bridge.store.subagent_runs import AgentRun

TOOL_USE_ID = "claudecode/toolUseId"
_MAX_NAME = 40


class UnknownCaller(BridgeError):
    """A call of Claude Code that no hook has seen: nobody knows whose agent it is."""

    code = "unknown_caller"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls; without a `session` it is a program outside of any.

    `agent_id` is empty for the main thread; `run` is the agent's record, if it is one
    of ours. `can_start` says whether it has the tool Agent.
    """

    asking: Asking
    session: Session | None = None
    agent_id: str = ""
    run: AgentRun | None = None
    can_start: bool = False


def identify(project: Project, meta: Mapping[str, Any] | None, client: str) -> Caller:
    """Who makes a call with this `_meta`; `client` is what its client calls itself.

    Raises:
        UnknownCaller: it names a tool call that no hook has written down.
        InvalidRequest: the session that made it is not open any more.
    """
    store = project.store
    call = (meta or {}).get(TOOL_USE_ID)
    if call is None:
        asking = asking_process(store, project.settings)
        return Caller(_named(asking, client))
    seen = find_caller(store, call) if isinstance(call, str) else None
    if seen is None:
        raise UnknownCaller(
            f"no hook of hostbridge has seen this call in {store.place.project}, so "
            "nobody knows which agent makes it",
            ways=(
                "hostbridge install, then restart the session",
                "hostbridge doctor shows whether the hooks run",
            ),
        )
    session = open_session(store, seen.session)
    if not seen.agent:
        known = _values(store, Holder.session(session.session_id))
        asking = _named(Asking(variables=known), client)
        return Caller(asking, session, can_start=True)
    run = find_agent(store, seen.agent)
    depth = 1 if run is None else run.depth + 1
    # An agent of the user's own has the variables of its session.
    known = _values(store, Holder.session(session.session_id))
    if run is not None:
        known = {**run.variables, **_values(store, Holder.agent(seen.agent))}
    asking = Asking(run.request_id if run else None, depth, known)
    able = can_start(seen.agent_type, run, depth)
    return Caller(_named(asking, client), session, seen.agent, run, can_start=able)


def _values(store: Store, holder: Holder) -> dict[str, Any]:
    return {name: each.value for name, each in read_variables(store, holder).items()}


def _named(asking: Asking, client: str) -> Asking:
    name = f"{one_line(client, _MAX_NAME)} (MCP)"
    return Asking(asking.parent, asking.depth, asking.variables, name)
