"""What a definition means in a session: what its agent may do, and which agent runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from bridge.agents.agent_names import OF_PROJECT
from bridge.config import Settings
from bridge.errors import InvalidRequest
from bridge.protocol.names import GENERAL
from bridge.protocol.request import Request
from bridge.store.location import Place

if TYPE_CHECKING:
    from bridge.agents.definition import Definition

# The client's agent that begins with the session's conversation (`bridge.host.forks`).
FORK = "fork"


def limits_of(definition: Definition | None) -> dict[str, Any]:
    """The parts of its definition that a run needs: fields of `AgentRun`."""
    if definition is None:
        return {}
    from bridge.policy.tool_names import on_host

    tools = definition.tools
    return {
        "tools": None if tools is None else on_host(tools),
        "blocked_tools": on_host(definition.blocked_tools),
        "allow": definition.allow,
        "max_turns": definition.max_turns,
        "require_verified_evidence": definition.require_verified_evidence,
        "replaces_variables": definition.lifecycle_variables_mode == "replace",
        "rule_sets": rule_sets_of(definition),
    }


def rule_sets_of(definition: Definition) -> dict[str, str | None]:
    """By layer, the rule set that a definition chooses; None for none.

    A project's definition cannot choose among the user's rules: those bind it.
    """
    if definition.lifecycle_workflow is None and not definition.has_no_rules:
        return {}
    layers = ["project"]
    if definition.source.layer not in OF_PROJECT:
        layers.append("user")
    return dict.fromkeys(layers, definition.lifecycle_workflow)


def check_rule_set(definition: Definition, settings: Settings, place: Place) -> None:
    """Check that the rule set of a definition is there: without it, none would bind it.

    Raises:
        InvalidRequest: it is not.
    """
    name = definition.lifecycle_workflow
    if name is None:
        return
    folders = (settings.home, place.owner / ".bridge")
    files = [str(folder / "rules" / f"{name}.yaml") for folder in folders]
    if not any(map(os.path.exists, files)):
        raise InvalidRequest(
            f"agent {definition.name!r} wants the rule set {name!r} (lifecycle_workflow"
            f"), and there is no {' and no '.join(files)}"
        )


def hosted(request: Request, definition: Definition, carrier: str | None) -> Request:
    """The request as a session runs it: by which agent, and how that agent searches.

    `carrier` is the session's name for our own agent, None if it does not know it.
    """
    if request.definition is None:
        return request
    from bridge.agents.search_tools import only_reads, search_note

    resolved = request.definition
    is_carried = carrier is not None and only_reads(definition)
    note = search_note(definition, has_search=is_carried)
    changed = {
        "subagent_type": carrier if is_carried else resolved.subagent_type,
        "prompt": f"{resolved.prompt}\n\n{note}" if note else resolved.prompt,
    }
    return request.with_(definition=resolved.with_(**changed))


def subagent_type(request: Request) -> str:
    """The client's agent that runs the request."""
    if request.context_from is not None:
        return FORK
    if request.definition is None:
        return request.agent_type
    return request.definition.subagent_type or GENERAL
