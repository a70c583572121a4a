"""Rules for an agent that no session runs: by `claude -p` of ours, or our own loop.

The same rules decide as in a session, with the agent's own variables. What they could
not do is written into the log of the run, for the user to read.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.bound.agent_limits import agents_above, check_rule_set, limits_of
from bridge.bound.delegation import Delegator, Told, add_told, give_up
from bridge.bound.headless import give, rule_notes
from bridge.config import Settings
from bridge.errors import BridgeError, StateUnavailable
from bridge.host.offers import MAX_STOP_OFFERS
from bridge.host.rule_effects import decide
from bridge.policy.rule_decision import Decision, Spawn
from bridge.policy.rule_set import Whose
from bridge.protocol import plain_json
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.protocol.status import ignore
from bridge.routes import RouteName
from bridge.rules.compiled import try_to_compile
from bridge.rules.freshness import is_fresh
from bridge.store import subagent_runs
from bridge.store.location import working_in
from bridge.store.step_states import left_at
from bridge.store.store import Store
from bridge.store.tool_calls import forget_handovers, untold
from bridge.store.variables import Holder, set_variables

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.host.agent_steps import AgentSteps

    Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AgentRules:
    """The rules that bind the agent of one request.

    Attributes:
        run: what `rule_gate.whose_of` reads: depth, above, variables, rule sets.
        is_over: whether nobody waits for the agent any more.
        on_note: called with what the user should know.
        route: the agent's; those that its workflow asks are asked on the same one.
    """

    settings: Settings
    store: Store
    request_id: str
    run: Json
    is_over: Callable[[], bool] = lambda: False
    on_note: Callable[[str], None] = ignore
    route: RouteName | None = None

    @classmethod
    def of(
        cls,
        settings: Settings,
        store: Store,
        request: Request,
        definition: Definition | None,
    ) -> AgentRules:
        """The rules for a request.

        Raises:
            InvalidRequest: the rule set that its definition names is not there, or the
                folder that it should work in.
        """
        store = store.at(working_in(store.place, request.folder))
        if definition is not None:
            check_rule_set(definition, settings, store.place)
        limits = limits_of(definition)
        run = {
            "agentId": request.request_id,
            "depth": request.depth,
            "above": agents_above(store, request),
            "variables": request.variables,
            "replacesVariables": limits.get("replaces_variables", False),
            "ruleSets": limits.get("rule_sets", {}),
        }
        return cls(settings, store, request.request_id, run, route=request.served_on)

    def begin_steps(self, request: Request) -> str:
        """Begin the agent's step workflow; what its prompt says of that.

        Raises:
            BridgeError: it cannot be begun.
        """
        return self._steps().begin(request)

    def ask(self, event: str, *, inside: str = "", **fields: Any) -> Ruling:
        """Ask about an event of the client's, and do what step and rules say.

        `inside` is the agent that this one has started, if it happens in that one.
        """
        stem = f"{self.store.place.state}/agents/{self.request_id}.steps"
        if not os.path.lexists(stem):
            return self._ask_rules(event, inside=inside, **fields)
        raw = {
            "session_id": self.request_id,
            "cwd": str(self.store.place.project),
            **fields,
            "hook_event_name": event,
            "agent_id": self.request_id,
        }
        before = event in ("PreToolUse", "SubagentStop", "SessionStart")
        said = self._steps().ask(event, raw, inside=inside) if before else None
        if said is not None and (said.block is not None or event == "SessionStart"):
            return Ruling(said.block, said.context)
        ruling = self._ask_rules(event, inside=inside, **fields)
        if said is None:
            said = self._steps().ask(event, raw, inside=inside)
        for note in said.notes:
            self._note(note)
        texts = filter(None, (said.context, ruling.context))
        return Ruling(ruling.block, "\n\n".join(texts), said.told)

    def _steps(self) -> AgentSteps:
        from bridge.host.agent_steps import AgentSteps

        return AgentSteps(
            self.settings, self.store, self.request_id, self.run, self.route
        )

    def _ask_rules(self, event: str, *, inside: str = "", **fields: Any) -> Ruling:
        if not is_fresh(self.settings, self.store.place):
            try_to_compile(self.settings, self.store)
        project = str(self.store.place.project)
        raw = {
            "session_id": self.request_id,
            "agent_type": self.run["above"][0],
            "cwd": project,
            **fields,
            "hook_event_name": event,
            "agent_id": self.request_id,
        }
        run = nested(self.run, inside)
        decision, whose = decide(self.settings, self.store, raw, run)
        if decision.is_empty:
            return Ruling()
        try:
            self._write_down(decision, event, raw.get("tool_use_id"))
        except BridgeError as error:
            decision.notes.append(f"variables were not written: {error}")
        for spawn in decision.spawns:
            add_told(decision, spawn, self._give(spawn, whose, decision.changes))
        block = decision.block
        for note in decision.notes:
            self._note(note)
        if block is not None and event == "SubagentStop":
            block = self._held_back(block)
        return Ruling(block, "\n\n".join(decision.contexts))

    def _give(self, spawn: Spawn, whose: Whose, changes: Json) -> Told:
        """Give work to an agent that needs no session."""
        with self.store.open() as store:
            delegator = Delegator(
                self.settings,
                store,
                self.request_id,
                parent=self.request_id,
                depth=whose.depth,
                variables={**whose.variables, **changes},
                is_over=self.is_over,
            )
            return give(delegator, spawn)

    def _write_down(self, decision: Decision, event: str, call: object) -> None:
        if decision.changes:
            set_variables(
                self.store,
                Holder.agent(self.request_id),
                decision.changes,
                "rule",
                counted=decision.counted,
                call=f"{event} {call}" if call else "",
            )

    def _held_back(self, reason: str) -> str | None:
        """Why the agent goes on; None past our own limit."""
        log = self.store.run_log(self.request_id)
        if sum(event.get("event") == "held" for event in log) >= MAX_STOP_OFFERS:
            return None
        self._log("held", reason)
        return reason

    def _note(self, note: str) -> None:
        self._log("rule", note)
        self.on_note(note)

    def _log(self, event: str, note: str) -> None:
        line = {"at": self.store.now_ms(), "event": event, "note": note}
        with suppress(BridgeError, OSError):
            self.store.log_run(self.request_id, plain_json.dumps(line))

    def notes(self) -> list[str]:
        """What rules could not do, said so far."""
        with suppress(BridgeError, OSError), self.store.open(make=False) as store:
            return rule_notes(store, self.request_id)
        return []

    def left_at(self) -> str:
        """Where its workflow stands, whose agent has ended; empty if that is over."""
        with suppress(StateUnavailable, OSError):
            return left_at(self.store, Holder.agent(self.request_id))
        return ""

    def forget(self) -> None:
        """Remove what rules have set and given away in the agent: it has ended.

        Its answer counts even if that fails; `prune` removes the rest.
        """
        with suppress(BridgeError, OSError), self.store.open(make=False) as store:
            for each in untold(store, self.request_id).values():
                # Its process may be gone already, with ours.
                if request := store.find_unfinished(RequestId(each)):
                    give_up(store, request, "cancelled", "its agent has ended")
            subagent_runs.forget_agent(store, self.request_id)
            forget_handovers(store, self.request_id)


def nested(run: Json, inside: str) -> Json:
    """The record for an event in an agent that this one has started."""
    if not inside:
        return run
    return {**run, "above": (inside, *run["above"]), "depth": run["depth"] + 1}


class Ruling(NamedTuple):
    """What step and rules say about an event.

    `block` is why it is refused, None if it is not; `context` is what the model is
    told beside it, and `told` is to be called once it has been.
    """

    block: str | None = None
    context: str = ""
    told: Callable[[], None] | None = None
