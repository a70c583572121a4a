"""Whether a rule or a step has a say in an event: standard library only.

Hooks ask this at every tool call while a sign says that a rule may concern it, or that
a workflow is active: under `python3 -EPS` in a session, under `-I -S` in `claude -p`.
Where one has a say, the full library decides again, and acts. Rules are decided by
`bridge.policy.rule_set`, steps by `bridge.policy.step_workflow` and one file of
`bridge.store.step_states`; each is imported where it is asked.

A step binds its conversation and every agent that this starts and that is not ours; one
of ours has its own. What the tools of a bound agent return moves nothing. A workflow
that cannot be read binds our own agents: they are refused. A user's own calls pass, and
the user is told.
"""

from __future__ import annotations

import os

from bridge.bound.call_notes import is_name, load
from bridge.policy.tool_classes import HANDBACK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from bridge.policy.condition import Shell
    from bridge.policy.rule_set import Whose
    from bridge.policy.step_record import StepRecord

    Json = dict[str, Any]

_MAX_BYTES = 64 * 1024 * 1024
_MAX_STEPS_BYTES = 4 * 1024 * 1024
_MAX_DEPTH = 20


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
        return _fires(compiled["rules"], state, fields, run, compiled["variables"])
    except Exception:  # noqa: BLE001 - damaged: the full hook compiles them again
        return True


def _fires(
    rules: Iterable[Json], state: str, fields: Json, run: Json | None, defaults: Json
) -> bool:
    from bridge.policy.rule_set import any_fires, scope_of

    whose = whose_of(state, fields, run, defaults)
    return any_fires(rules, scope_of(fields, whose), whose, shell())


def may_block(event: str, state: str) -> bool:
    """Whether any rule about an event could block it."""
    from bridge.policy.rule_set import is_blocking

    try:
        compiled = load_rules(state, event)
        return compiled is not None and any(map(is_blocking, compiled["rules"]))
    except Exception:  # noqa: BLE001 - damaged: one of them may
        return True


def may_refuse(event: str, state: str, fields: Json) -> bool:
    """Whether a blocking rule may be about a call that the library could not decide."""
    from bridge.policy.rule_mending import is_mending
    from bridge.policy.rule_set import Whose, is_blocking, scope_of

    if is_mending(scope_of(fields, Whose({}))):
        return False
    if "hook_event_name" not in fields:
        return may_block(event, state)
    try:
        compiled = load_rules(state, event)
        if compiled is None:
            return False
        rules = filter(is_blocking, compiled["rules"])
        return _fires(rules, state, fields, None, compiled["variables"])
    except Exception:  # noqa: BLE001 - damaged: one of them may
        return True


def load_rules(state: str, event: str) -> Json | None:
    """The compiled rules of an event; None if there are none.

    Raises:
        ValueError: there are some, by their sign, and they cannot be read.
    """
    from bridge.policy.rule_set import EVENTS

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
    from bridge.policy.rule_set import Whose

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


def nested(run: Json, inside: str) -> Json:
    """The record for an event in an agent that this one has started."""
    if not inside:
        return run
    return {**run, "above": (inside, *run["above"]), "depth": run["depth"] + 1}


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
    from bridge.policy.step_workflow import step_of

    try:
        record = Binding(state, fields, run).record()
    except ValueError:
        return None, None
    if record is None or step_of(record) is None:
        return None, None
    return str(record["code"].get("name")), str(record["step"])


def _set(path: str) -> Json:
    """The variables that were set, by name."""
    from bridge.policy.variable_record import owned_in

    found = owned_in(load(path, _MAX_BYTES))
    return {name: each.get("value") for name, each in found.items()}


class Binding:
    """The conversation whose step binds an event.

    Attributes:
        file: where its workflow is kept, whether or not there is one.
        fields: the event, as one of that conversation.
        run: the record of its agent, if it is one of ours.
        state: the state directory.
        is_own: whether the event happened in it, and not in an agent that it started.
    """

    __slots__ = ("fields", "file", "is_own", "run", "state")

    def __init__(self, state: str, fields: Json, run: Json | None) -> None:
        self.state = state
        agent_id = fields.get("agent_id")
        self.is_own = agent_id is None or (run is not None and not run.get("nested"))
        self.run = _starter(f"{state}/agents/", run) if run else None
        if self.run is not None:
            holder = self.run.get("agentId")
            self.file = f"{state}/agents/{holder}.steps"
            self.fields = {**fields, "agent_id": holder}
        else:
            name = fields.get("session_id")
            self.file = f"{state}/sessions/{name if is_name(name) else ''}.steps.json"
            self.fields = fields

    def record(self) -> StepRecord | None:
        """The record of its workflow; None if there is none.

        Raises:
            ValueError: it cannot be read.
        """
        from bridge.policy import step_workflow

        found: Any = load(self.file, _MAX_STEPS_BYTES)
        if found is None and not os.path.lexists(self.file):
            return None
        version = found and found.get("schemaVersion")
        is_read = found is not None and (
            version == step_workflow.VERSION
            and found.keys() <= step_workflow.KEYS
            and (
                found.get("status") == "ended"
                or step_workflow.step_of(found) is not None
            )
        )
        if not is_read:
            raise ValueError(f"{self.file} is no workflow that can be read")
        record: StepRecord = found
        return record

    def whose(self) -> Whose:
        """Its variables, with those that rules files declare."""
        known = load(f"{self.state}/rules/variables.json", _MAX_STEPS_BYTES) or {}
        return whose_of(self.state, self.fields, self.run, known.get("variables") or {})

    def refusal(self, record: StepRecord) -> str | None:
        """Why the step refuses a call; None if it does not."""
        from bridge.policy import step_workflow

        return step_workflow.refusal(record, self.fields, self.whose, shell)

    def warnings(self, record: StepRecord) -> list[str]:
        """What the step says about a call that it lets pass."""
        from bridge.policy import step_workflow

        return step_workflow.warnings(record, self.fields, self.whose, shell)


def _starter(agents: str, run: Json) -> Json:
    """The agent of ours that an agent came from: itself, or the one above it."""
    for _ in range(_MAX_DEPTH):
        if not run.get("nested"):
            break
        parent = run.get("parent")
        above = load(f"{agents}{parent}.json") if is_name(parent) else None
        above = above or _serving(agents, run.get("requestId"))
        if above is None:
            break
        run = above
    return run


def _serving(agents: str, request_id: object) -> Json | None:
    """The agent that serves a request: who used a skill is not noted."""
    for name in os.listdir(agents):
        if name.endswith(".json"):
            run = load(agents + name)
            if run and run.get("requestId") == request_id and not run.get("nested"):
                return run
    return None


def has_step(event: str, state: str, fields: Json, run: Json | None) -> bool:
    """Whether the full hook must see a tool call, or its end, for the step's sake."""
    binding = Binding(state, fields, run)
    if event != "PreToolUse" and not binding.is_own:
        return False
    try:
        record = binding.record()
    except ValueError:
        # What the user does passes without us.
        return run is not None
    if record is None:
        return False
    try:
        if event != "PreToolUse":
            from bridge.policy.step_workflow import concerns

            return concerns(record, binding.fields, binding.whose, shell)
        is_due = binding.is_own and (record.get("untold") or record.get("entering"))
        refused = binding.refusal(record) is not None
        return refused or bool(is_due) or bool(binding.warnings(record))
    except Exception:  # noqa: BLE001 - of any content: the full hook says why
        return True


def begins(state: str, run: Json | None) -> bool:
    """Whether an agent of ours is to begin a workflow, and has not yet."""
    if run is None or not run.get("workflow") or run.get("nested"):
        return False
    stem = f"{state}/agents/{run.get('agentId')}.steps"
    return not os.path.lexists(stem) and not os.path.lexists(f"{stem}-ended")


def refused_by_step(state: str, fields: Json) -> str | None:
    """Why the step refuses a call that is none of our agents'; None if it does not.

    Where nothing can be read, a user's own call passes.
    """
    binding = Binding(state, fields, None)
    try:
        record = binding.record()
        return None if record is None else binding.refusal(record)
    except Exception:  # noqa: BLE001 - a file of any content
        return None
