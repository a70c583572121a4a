"""Whether any rule has something to say about an event: standard library only.

Runs under `python3 -EPS` where a sign says that a rule may concern the event. If one
fires, the full hook decides again and acts. What decides is `bridge.policy.rule_set`.
"""

from __future__ import annotations

import os

from bridge.bound.call_notes import is_name, load
from bridge.policy.rule_set import EVENTS, Whose, any_fires, is_blocking, scope_of
from bridge.policy.tool_classes import HANDBACK
from bridge.policy.variable_record import owned_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bridge.policy.condition import Shell

    Json = dict[str, Any]

_MAX_BYTES = 64 * 1024 * 1024


def fires(event: str, state: str, fields: Json, run: Json | None) -> bool:
    """Whether the full hook must see an event of this state for the sake of rules.

    `run` is the record of the agent of ours in which it happened.
    """
    if fields.get("tool_name") == HANDBACK:
        return False
    try:
        compiled = load_rules(state, event)
        if compiled is None:
            return False
        whose = whose_of(state, fields, run, compiled["variables"])
        scope = scope_of(fields, whose)
        return any_fires(compiled["rules"], scope, whose, shell())
    except Exception:  # noqa: BLE001 - damaged: the full hook compiles them again
        return True


def may_block(event: str, state: str) -> bool:
    """Whether any rule about an event could block it."""
    try:
        compiled = load_rules(state, event)
        return compiled is not None and any(map(is_blocking, compiled["rules"]))
    except Exception:  # noqa: BLE001 - damaged: one of them may
        return True


def may_refuse(event: str, state: str, fields: Json) -> bool:
    """Whether a blocking rule may be about a call that the library could not decide."""
    from bridge.policy.rule_mending import is_mending

    if is_mending(scope_of(fields, Whose({}))):
        return False
    if "hook_event_name" not in fields:
        return may_block(event, state)
    try:
        compiled = load_rules(state, event)
        if compiled is None:
            return False
        whose = whose_of(state, fields, None, compiled["variables"])
        rules = filter(is_blocking, compiled["rules"])
        functions = shell()
        return any_fires(rules, scope_of(fields, whose), whose, functions)
    except Exception:  # noqa: BLE001 - damaged: one of them may
        return True


def load_rules(state: str, event: str) -> Json | None:
    """The compiled rules of an event; None if there are none.

    Raises:
        ValueError: there are some, by their sign, and they cannot be read.
    """
    if event not in EVENTS:
        return None
    file = f"{state}/rules/{EVENTS[event]}.json"
    compiled = load(file, _MAX_BYTES)
    rules = compiled and compiled.get("rules")
    if rules and isinstance(rules, list):
        return compiled
    if os.path.lexists(f"{state}/rules/{event}"):
        raise ValueError(f"{file} does not hold the rules that are in force")
    return None


def shell() -> Shell:
    """The functions of conditions that read commands."""
    from bridge.policy.shell_functions import shell as functions

    return functions()


def whose_of(state: str, fields: Json, run: Json | None, defaults: Json) -> Whose:
    """In whose name an event happens: the session, an agent of ours, or another's."""
    agent_id = fields.get("agent_id")
    if run is None or not agent_id:
        name = fields.get("session_id")
        session = _set(f"{state}/sessions/{name}.vars.json") if is_name(name) else {}
        other = str(fields.get("agent_type")) if agent_id else None
        return Whose(
            {**defaults, **session},
            agent=other,
            depth=1 if agent_id else 0,
            above=(other,) if other else (),
            workflow=_workflow(state, fields, run),
        )
    own = {**(run.get("variables") or {}), **_set(f"{state}/agents/{agent_id}.vars")}
    above = run.get("above") or ()
    return Whose(
        own if run.get("replacesVariables") else {**defaults, **own},
        agent=above[0] if above else None,
        depth=run.get("depth", 0) + 1,
        above=above,
        sets=run.get("ruleSets") or {},
        workflow=_workflow(state, fields, run),
    )


def _workflow(
    state: str, fields: Json, run: Json | None
) -> tuple[str | None, str | None]:
    """The workflow that is active where an event happens, and its step."""
    signs = (
        f"{state}/{folder}/{fields.get(key)}.steps"
        for folder, key in (("sessions", "session_id"), ("agents", "agent_id"))
    )
    if not any(map(os.path.lexists, signs)):
        return None, None
    from bridge.bound.step_binding import place_of

    return place_of(state, fields, run)


def _set(path: str) -> Json:
    """The variables that were set, by name."""
    found = owned_in(load(path, _MAX_BYTES))
    return {name: each.get("value") for name, each in found.items()}
