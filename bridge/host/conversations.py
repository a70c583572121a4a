"""Whose step workflow it is: a session's main thread, or an agent of ours.

Hooks, our MCP server and the command line begin and move workflows; each says here in
whose name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.bound.conversations import begin_for, conversation
from bridge.bound.first_look import Binding
from bridge.host.context import HookContext
from bridge.host.events import HookEvent
from bridge.host.handover import SessionDelegator
from bridge.protocol.ids import RequestId
from bridge.store.variables import Holder

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.store.sessions import Session
    from bridge.store.store import Store
    from bridge.store.subagent_runs import AgentRun
    from bridge.workflows.conversation import Conversation
    from bridge.workflows.progress import WorkflowProgress

    Json = dict[str, Any]


def conversation_of(hook: HookContext, run: AgentRun | None) -> Conversation:
    """The conversation of an event: of an agent of ours, or the session's own."""
    session_id = hook.session.session_id
    data = run.to_data() if run else None
    binding = Binding(str(hook.store.place.state), hook.event.raw, data)
    whose, agent_id = binding.whose(), run.agent_id if run else ""
    delegator = SessionDelegator(
        hook, run, agent_id, depth=whose.depth, variables=whose.variables
    )
    holder = Holder.agent(agent_id) if run else Holder.session(session_id)
    return conversation(holder, delegator, binding, session_id)


def conversation_in(
    settings: Settings, store: Store, session: Session, run: AgentRun | None = None
) -> Conversation:
    """The conversation of an open session, or of an agent of ours in it.

    For those who are no hook.
    """
    event: Json = {"session_id": session.session_id}
    if run is not None:
        event["agent_id"] = run.agent_id
    hook = HookContext(settings, store, HookEvent(event), session, [])
    return conversation_of(hook, run)


def begin_agents(hook: HookContext, run: AgentRun) -> WorkflowProgress | None:
    """Begin the workflow of an agent of ours, in its own conversation.

    None if its request has ended, or has none.

    Raises:
        BridgeError: it cannot be begun.
    """
    request = hook.store.find_unfinished(RequestId(run.request_id))
    if request is None:
        return None
    conversation = conversation_of(hook, run)
    with hook.store.open() as store:
        return begin_for(store, hook.settings, conversation, request)
