"""Who may be asked to look at a change, checked before anybody is asked."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.agents.known_agents import Agents
from bridge.errors import BridgeError, InvalidRequest
from bridge.validation.look import Validator, can_read, runs_commands

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bridge.agents.definition import Definition
    from bridge.config import Settings
    from bridge.routes import RouteName

# What a session has of agents, and what every other route has.
_ROUTES: tuple[RouteName, ...] = ("host", "claude")
# How long a validator may take whose definition does not say.
USUAL_S = 900.0
MAX_VALIDATORS = 20


def find_validators(
    settings: Settings,
    project: Path,
    names: Iterable[str],
    *,
    timeout_s: float | None = None,
    together: bool = False,
) -> list[Validator]:
    """The validators of these names; `timeout_s` is the most that each may take.

    `together` has those that go together asked in one request.

    Raises:
        UnknownAgent, BadDefinition, NotTrusted: one cannot be asked.
        InvalidRequest: an agent has no definition, or gives no verdict; none is named.
    """
    wanted = list(dict.fromkeys(names))
    if not wanted:
        raise InvalidRequest("no validator is named; leave them out for the usual ones")
    if len(wanted) > MAX_VALIDATORS:
        raise InvalidRequest(f"{len(wanted)} validators; {MAX_VALIDATORS} is the limit")
    agents = Agents.open(settings, project)
    found = []
    for name in wanted:
        definition = agents.find(name)
        if definition is None:
            raise InvalidRequest(
                f"agent {name!r} has no definition here: nothing would show it the "
                "change",
                ways=("hostbridge agents new",),
            )
        found.append(definition)
    chosen = [
        _validator(each, timeout_s)._replace(digests=digests_of(agents, each.name))
        for each in found
    ]
    return _joined(chosen, found) if together else chosen


def _joined(chosen: list[Validator], definitions: list[Definition]) -> list[Validator]:
    """The same, with what each is in one request for several."""
    from bridge.validation.together import grouped  # with jinja2

    parts, alone = grouped(definitions)
    return [
        each._replace(part=parts.get(each.agent), alone=alone.get(each.agent, ""))
        for each in chosen
    ]


def digests_of(agents: Agents, name: str) -> tuple[str, ...]:
    """The digests of an agent's definition in a session, and on any other route."""
    found = []
    for route in _ROUTES:
        with suppress(BridgeError):
            definition = agents.find(name, route)
            found += [definition.source.digest] if definition else []
    return tuple(dict.fromkeys(found))


def _validator(definition: Definition, timeout_s: float | None) -> Validator:
    if not _gives_verdict(definition.output_schema):
        raise InvalidRequest(
            f"agent {definition.name!r} is no validator: its answers need not have "
            "`verdict` or `status`; require one of them in its output_schema"
        )
    own_s = definition.timeout_s or USUAL_S
    return Validator(
        definition.name,
        own_s if timeout_s is None else min(own_s, timeout_s),
        must_verify=definition.require_verified_evidence,
        can_read=can_read(definition),
        runs_commands=runs_commands(definition),
    )


def _gives_verdict(schema: dict[str, object] | None) -> bool:
    """Whether answers have a verdict; those without a schema are an AgentOutput."""
    if schema is None:
        return True
    wanted = schema.get("required")
    return isinstance(wanted, list) and any(n in wanted for n in ("verdict", "status"))
