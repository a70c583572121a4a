"""Whose step workflow it is: a session's main thread, or an agent of ours.

Hooks, our MCP server and the command line begin and move workflows; each says here in
whose name.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bridge.agents.workflow_choice import (
    workflow_of,
    workflow_settings,
    workflow_variables,
)
from bridge.host import step_gate
from bridge.host.context import HookContext
from bridge.host.events import HookEvent
from bridge.host.handover import count_agent
from bridge.host.rule_request import Delegator
from bridge.host.step_requests import StepRequests
from bridge.protocol.ids import RequestId
from bridge.rules.compiled import kept_variables
from bridge.store.variables import Holder
from bridge.workflows import progress
from bridge.workflows.conversation import Conversation

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.config import Settings
    from bridge.policy.step_record import CompiledWorkflow
    from bridge.protocol.request import Request, WorkflowOf
    from bridge.store.sessions import Session
    from bridge.store.store import Store
    from bridge.store.subagent_runs import AgentRun
    from bridge.workflows.progress import WorkflowProgress

    Json = dict[str, Any]


def conversation_of(hook: HookContext, run: AgentRun | None) -> Conversation:
    """The conversation of an event: of an agent of ours, or the session's own."""
    store, settings, session = hook.store, hook.settings, hook.session
    data = run.to_data() if run else None
    bound = step_gate.Bound(str(store.place.state), hook.event.raw, data)
    whose = bound.whose()
    delegator = Delegator(
        settings,
        store,
        session.session_id,
        agent_id=run.agent_id if run else "",
        depth=whose.depth,
        parent=run.request_id if run else None,
        variables=whose.variables,
    )
    asks = StepRequests(
        delegator,
        hook=hook,
        run=run,
        agent_type=hook.event.text("agent_type") if run else None,
        begin=partial(count_agent, hook),
    )
    holder = Holder.agent(run.agent_id) if run else Holder.session(session.session_id)
    return Conversation(
        holder,
        session.session_id,
        bound.whose,
        kept=kept_variables(settings, store),
        settings=workflow_settings(settings),
        act=asks.act,
        shell=step_gate.shell(),
    )


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


def begin_for(
    store: Store, settings: Settings, conversation: Conversation, request: Request
) -> WorkflowProgress | None:
    """Begin what the agent of a request works through; None for nothing.

    Raises:
        BridgeError: it cannot be begun.
    """
    wanted = workflow_of(request)
    if wanted is None:
        return None
    code = compiled(settings, store.place.project, wanted)
    given = workflow_variables(request, code["variables"])
    conversation = replace(conversation, given=given)
    return progress.begin(store, conversation, code, by="agent")


def compiled(settings: Settings, project: Path, wanted: WorkflowOf) -> CompiledWorkflow:
    """The compiled workflow of an agent, of its layer or one below that.

    Raises:
        BridgeError: there is none, it has an error, or it waits for trust.
    """
    from bridge.workflows.own_steps import find_steps
    from bridge.workflows.reader import find_workflow

    if wanted.in_agent:
        return find_steps(settings, project, wanted.name, wanted.layer).compiled()
    found = find_workflow(settings, project, wanted.name, layer=wanted.layer)
    return found.compiled()
