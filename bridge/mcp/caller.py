"""Who calls a tool: an agent of an open session, its main thread, or another program.

Claude Code puts the id of its tool call into the call, and a hook has written down who
made it. Ids are no secrets: only a server that the session itself has started believes
them. A call without such an id comes from another client, and asks as the command line
does. So does an agent of `claude -p`, where no hook serves the queue: the server has
its environment, which names the request.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bridge.api.project import Project
from bridge.api.variables import Variables, check_given
from bridge.errors import BridgeError, InvalidRequest
from bridge.host.calling_agent import RequestOrigin, asking_process, find_caller
from bridge.host.handover import can_start
from bridge.protocol.wording import one_line
from bridge.store.host_process import ancestors_of, name_of
from bridge.store.sessions import Session, open_session
from bridge.store.subagent_runs import AgentRun, find_agent
from bridge.store.tool_calls import SessionAgent, caller_of
from bridge.store.variables import Holder, values_of, variables_of

TOOL_USE_ID = "claudecode/toolUseId"
_MAX_NAME = 40


class UnknownCaller(BridgeError):
    """A call of Claude Code that no hook has seen, or that is another server's."""

    code = "unknown_caller"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls; without a `session` it is a program outside of any.

    `agent_id` is empty for the main thread; `run` is the agent's record, if it is one
    of ours. `can_start` says whether it has the tool Agent.
    """

    asking: RequestOrigin
    session: Session | None = None
    agent_id: str = ""
    run: AgentRun | None = None
    can_start: bool = False


def identify(project: Project, meta: Mapping[str, Any] | None, client: str) -> Caller:
    """Who makes a call with this `_meta`; `client` is what its client calls itself.

    Raises:
        UnknownCaller: it names a tool call that no hook has written down, or one of a
            session that has not started this server.
        InvalidRequest: the session that made it is not open any more.
    """
    call = (meta or {}).get(TOOL_USE_ID)
    seen = caller_of(project.store, call) if isinstance(call, str) else None
    if seen is not None:
        caller = _in_session(project, seen)
    elif call is None or project.settings.parent_request is not None:
        caller = Caller(asking_process(project.store, project.settings))
    else:
        raise UnknownCaller(
            f"no hook of hostbridge has seen this call in {project.store.place.project}"
            ", so nobody knows which agent makes it",
            ways=(
                "hostbridge install, then restart the session",
                "hostbridge doctor shows whether the hooks run",
            ),
        )
    return replace(caller, asking=caller.asking._replace(requester=_name_of(client)))


def _name_of(client: str) -> str:
    """Who asks, for people, such as `claude-code over MCP (pid 4711)`.

    The name that the SDK gives a client by default says nothing: then its program's.
    """
    pid = os.getppid()
    name = client if client not in ("", "mcp") else name_of(pid) or "a program"
    return f"{one_line(name, _MAX_NAME)} over MCP (pid {pid})"


def _in_session(project: Project, seen: SessionAgent) -> Caller:
    store = project.store
    session = open_session(store, seen.session_id)
    if not _has_started_us(project, session):
        raise UnknownCaller(
            f"this server was not started by the session {session.session_id}, which "
            "made the call of that id",
            ways=("call it from that session", "leave the id of the call out"),
        )
    known = values_of(store, Holder.session(session.session_id))
    if not seen.agent.agent_id:
        return Caller(RequestOrigin(variables=known), session, can_start=True)
    run = find_agent(store, seen.agent.agent_id)
    if run is None:
        # The user's own: it has the variables of its session, and one level above it.
        asking = RequestOrigin(depth=1, variables=known)
    else:
        known = variables_of(store, run)
        asking = RequestOrigin(run.request_id, run.depth + 1, known, is_seen=True)
    able = can_start(seen.agent.agent_type, run, asking.depth)
    return Caller(asking, session, seen.agent.agent_id, run, can_start=able)


def _has_started_us(project: Project, session: Session) -> bool:
    """Whether this server is the session's own, and no command's of an agent of it."""
    above = ancestors_of(os.getpid())
    if session.host.pid not in above:
        return False
    if session.host.pid == above[0]:
        return True
    agent = find_caller(project.store, project.settings)
    return agent is None or not agent.is_sure


def check_variables(
    project: Project, caller: Caller, given: Mapping[str, Any] | None
) -> None:
    """Check that a caller may give these variables to an agent.

    Raises:
        NotYours: one belongs to a person, a rule or a tool.
    """
    if given and caller.session is not None:
        variables_for(project, caller, None).check_given(given)
    elif given:
        check_given(project.store, project.settings, given, is_models=True)


def variables_for(project: Project, caller: Caller, session: str | None) -> Variables:
    """The variables that a caller sees, and may change where they are a model's.

    Raises:
        InvalidRequest: it names another session than its own, or none or several are
            open.
    """
    store, settings = project.store, project.settings
    if caller.session is None:
        found = Variables.open(store, settings, session, "model")
        found.owner = "model"
        return found
    if session is not None and session not in caller.session.ids:
        raise InvalidRequest(
            f"session {session!r} is not yours: leave `session` out, it is for callers "
            "outside of Claude Code"
        )
    if caller.run is not None:
        return Variables.of_agent(store, settings, caller.run)
    return Variables.of_session(store, settings, caller.session.session_id, "model")
