"""What limits an agent: its definition, and the agents above it, as its record says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from bridge.agents.agent_names import OF_PROJECT
from bridge.config import Settings
from bridge.errors import InvalidRequest
from bridge.protocol.ids import RequestId, is_id
from bridge.protocol.request import Request
from bridge.store.location import Place
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.agents.definition import Definition

# More than any limit on depth.
_MAX_ABOVE = 64


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


def agents_above(store: Store, request: Request) -> tuple[str, ...]:
    """The agent of a request, the one that made the request, and so on."""
    names = [request.ruled_as]
    while (parent := request.parent_request_id) is not None and len(names) < _MAX_ABOVE:
        found = store.find(RequestId(parent)) if is_id(parent) else None
        if found is None or found.request is None:
            break
        request = found.request
        names.append(request.ruled_as)
    return tuple(names)
