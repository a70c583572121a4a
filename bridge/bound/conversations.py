"""The step workflow of a conversation: how an agent's is begun, and what it may do."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bridge.agents.workflow_choice import (
    workflow_of,
    workflow_settings,
    workflow_variables,
)
from bridge.bound.first_look import Binding, shell
from bridge.bound.spawn_agent import act
from bridge.rules.compiled import kept_variables
from bridge.workflows import progress
from bridge.workflows.conversation import Conversation

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.bound.delegation import Delegator
    from bridge.config import Settings
    from bridge.policy.step_record import CompiledWorkflow
    from bridge.protocol.request import Request, WorkflowOf
    from bridge.store.store import Store
    from bridge.store.variables import Holder
    from bridge.workflows.progress import WorkflowProgress


def conversation(
    holder: Holder, delegator: Delegator, binding: Binding, session: str = ""
) -> Conversation:
    """The conversation that an event happens in, whose agent is the delegator."""
    settings = delegator.settings
    return Conversation(
        holder,
        session,
        binding.whose,
        kept=kept_variables(settings, delegator.store),
        settings=workflow_settings(settings),
        act=partial(act, delegator),
        shell=shell(),
    )


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
