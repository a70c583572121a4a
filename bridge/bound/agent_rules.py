"""What binds an agent that no session runs: by `claude -p` of ours, or our own loop.

The same rules decide as in a session, with the agent's own variables; the gate and the
moves of its step workflow are those of a session, too, which begins before the agent
does. What they could not do is written into the log of the run, for the user to read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.bound.agent_limits import agents_above, check_rule_set, limits_of
from bridge.bound.delegation import Delegator, give_up
from bridge.bound.event_rules import decide, keep_variables
from bridge.bound.first_look import Binding, nested
from bridge.bound.headless import give, rule_notes
from bridge.config import Settings
from bridge.errors import BridgeError, StateUnavailable
from bridge.policy.rule_decision import Ruling
from bridge.policy.step_change import UNREAD, introduction
from bridge.protocol import plain_json
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.protocol.status import ignore
from bridge.routes import RouteName
from bridge.rules.freshness import is_fresh
from bridge.store import step_states, subagent_runs
from bridge.store.location import working_in
from bridge.store.sessions import MAX_STOP_OFFERS
from bridge.store.store import Store
from bridge.store.tool_calls import forget_handovers, untold
from bridge.store.variables import Holder

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.workflows.conversation import Conversation

    Json = dict[str, Any]

_MOVES = ("PostToolUse", "PostToolUseFailure")


@dataclass(frozen=True, slots=True)
class AgentRules:
    """The rules that bind the agent of one request.

    Attributes:
        run: what `first_look.whose_of` reads: depth, above, variables, rule sets.
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

        One that is served again, since its process was killed, goes on in its step.

        Raises:
            BridgeError: it cannot be begun.
        """
        if not request.works_through:
            return ""
        from bridge.bound.conversations import begin_for
        from bridge.workflows import progress

        with self.store.open() as store:
            try:
                here = self._conversation(store, self._raw("", {}))
                found = begin_for(store, self.settings, here, request)
            except step_states.WorkflowActive:
                record = step_states.find(store, self._holder)
                return introduction(record) if record else ""
            if found is None:
                return ""
            progress.told(store, self._holder, found.rev)
            return "\n\n".join(found.messages)

    def ask(self, event: str, *, inside: str = "", **fields: Any) -> Ruling:
        """Ask about an event of the client's, and do what step and rules say.

        `inside` is the agent that this one has started, if it happens in that one.
        """
        raw = self._raw(event, fields)
        if not os.path.lexists(f"{self.store.place.state}/{self._steps_sign}"):
            return self._ask_rules(event, raw, inside)
        is_first = event in ("PreToolUse", "SubagentStop", "SessionStart")
        step = self._ask_step(event, raw, inside) if is_first else Ruling()
        if step.block is not None or event == "SessionStart":
            return step
        rules = self._ask_rules(event, raw, inside)
        if not is_first:
            step = self._ask_step(event, raw, inside)
        texts = filter(None, (step.context, rules.context))
        return Ruling(rules.block, "\n\n".join(texts), step.told)

    @property
    def _holder(self) -> Holder:
        return Holder.agent(self.request_id)

    @property
    def _steps_sign(self) -> str:
        return f"agents/{self.request_id}.steps"

    def _raw(self, event: str, fields: Json) -> Json:
        """An event as the client tells of one in an agent of a session."""
        return {
            "session_id": self.request_id,
            "agent_type": self.run["above"][0],
            "cwd": str(self.store.place.project),
            **fields,
            "hook_event_name": event,
            "agent_id": self.request_id,
        }

    # Its rules

    def _ask_rules(self, event: str, raw: Json, inside: str) -> Ruling:
        if not is_fresh(self.settings, self.store.place):
            from bridge.rules.compiled import try_to_compile

            try_to_compile(self.settings, self.store)
        run = nested(self.run, inside)
        decision, whose = decide(self.settings, self.store, raw, run)
        if decision.is_empty:
            return Ruling()
        call = raw.get("tool_use_id")
        keep_variables(self.store, self._holder, decision, event, call)
        if decision.spawns:
            variables = {**whose.variables, **decision.changes}
            with self.store.open() as store:
                give(self._delegator(store, whose.depth, variables), decision)
        block = decision.block
        for note in decision.notes:
            self._note(note)
        if block is not None and event == "SubagentStop":
            block = self._held_back(block)
        return Ruling(block, "\n\n".join(decision.contexts))

    def _delegator(
        self, store: Store, depth: int, variables: Mapping[str, Any]
    ) -> Delegator:
        return Delegator(
            self.settings,
            store,
            self.request_id,
            parent=self.request_id,
            depth=depth,
            variables=variables,
            route=self.route,
            is_over=self.is_over,
        )

    # Its step

    def _ask_step(self, event: str, raw: Json, inside: str) -> Ruling:
        try:
            record = step_states.find(self.store, self._holder)
        except (BridgeError, OSError) as error:
            why = UNREAD.format(why=error)
            return Ruling(why if event == "PreToolUse" else None)
        if record is None:
            return Ruling()
        if event == "PreToolUse":
            binding = self._binding(raw)
            return Ruling(binding.refusal(record), "\n".join(binding.warnings(record)))
        if inside or event not in (*_MOVES, "SubagentStop", "SessionStart"):
            return Ruling()
        if event == "SessionStart":
            return Ruling(context=introduction(record))
        try:
            with self.store.open() as store:
                return self._moved(store, raw, is_end=event == "SubagentStop")
        except (BridgeError, OSError) as error:
            self._note(f"the workflow does not go on: {error}")
            return Ruling()

    def _moved(self, store: Store, raw: Json, *, is_end: bool) -> Ruling:
        from bridge.workflows import progress

        here = self._conversation(store, raw)
        found = progress.advance(store, here, None if is_end else raw)
        if is_end and not (found and found.moved):
            return Ruling(progress.stop(store, here, raw))
        if found is None:
            return Ruling()
        for note in found.problems:
            self._note(note)
        rev = found.rev

        def told() -> None:
            with suppress(BridgeError, OSError), self.store.open() as again:
                progress.told(again, self._holder, rev)

        words = "\n\n".join(found.messages)
        if is_end:
            return Ruling(words, told=told if words else None)
        return Ruling(context=words, told=told if words else None)

    def _binding(self, raw: Json) -> Binding:

        return Binding(str(self.store.place.state), raw, self.run)

    def _conversation(self, store: Store, raw: Json) -> Conversation:
        from bridge.bound.conversations import conversation

        binding = self._binding(raw)
        whose = binding.whose()
        delegator = self._delegator(store, whose.depth, whose.variables)
        return conversation(self._holder, delegator, binding)

    # Its log, and its end

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
            return step_states.left_at(self.store, self._holder)
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
