"""A rule gives the work of a call to an agent: the call is refused with an offer.

The request is the session's own, claimed at once, and its answer comes back to the
model that made the call. A call that is made again meets the same request. Where the
work cannot be handed over, the call runs, and the user is told why; a rule that says
`required: true` refuses it then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bridge.bound.budgets import find_spent
from bridge.bound.delegation import Delegator, NotPossible, Told, give_up
from bridge.host.budget_news import session_now
from bridge.host.context import HookContext
from bridge.host.denied_agents import why_no_agents
from bridge.host.offers import judge_for, mark_open
from bridge.host.request_tokens import PREFIX, instruction
from bridge.policy.rule_decision import Spawn
from bridge.policy.rule_set import place_of
from bridge.policy.tool_lists import permits
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.store import Found, sessions
from bridge.store.clock import uptime
from bridge.store.subagent_runs import AgentRun
from bridge.store.tool_calls import BESIDE, find_handover, note_handover

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.tasks.task import Holder as TaskHolder

# The client's own agents that have no tool Agent; nor has an agent below this depth.
# Source: measured on Claude Code 2.1.330.
_WITHOUT_AGENT = frozenset({"Explore", "Plan"})
_LAST_LEVEL = 1


class SessionDelegator(Delegator):
    """Who gives work to an agent in a session: its main thread, or a subagent of it.

    `run` is the record of an agent of ours that an event happened in; `agent_id` is
    empty for a workflow of the main thread's, in whatever agent the event was.
    """

    has_session = True

    def __init__(
        self,
        hook: HookContext,
        run: AgentRun | None,
        agent_id: str,
        *,
        depth: int,
        variables: Mapping[str, Any],
    ) -> None:
        super().__init__(
            hook.settings,
            hook.store,
            hook.session.session_id,
            parent=run.request_id if run else None,
            depth=depth,
            variables=variables,
            agent_id=agent_id,
        )
        self.hook = hook
        self.run = run

    def count(self, request: Request) -> None:
        """An agent that a process of its own runs is one of the session's, too."""
        hook = self.hook
        if limit := find_spent(session_now(hook), uptime(hook.store.clock)):
            raise NotPossible(f"{limit.why}; more now: {limit.cure}")
        left_ms = max(0, request.deadline_ms - hook.now_ms())
        call = request.request_id
        sessions.note_launch(hook.store, hook.session, call, left_ms=left_ms)

    def check_can_offer(self) -> None:
        """Check that the giver has the tool Agent."""
        if not self._can_start():
            raise NotPossible("this agent has no tool to start others")

    def _can_start(self) -> bool:
        kind = self.hook.event.text("agent_type") if self.agent_id else None
        return can_start(kind, self.run, self.depth)

    def offer(self, request: Request, key: str, /) -> None:
        """Offer a request to the giver alone."""
        offer_to_caller(self.hook, request.with_(session=self.holder), key)

    def how_to_start(self, request_id: str) -> str:
        """The call that the model is to make."""
        return instruction([request_id])

    def hand_over(self, spawn: Spawn, definition: Definition | None, /) -> Told:
        """Offer the work in place of a call, or ask an agent beside it."""
        if not spawn.is_handover:
            return _beside(self, spawn, definition)
        # The hook of another entry may see the same call at the same time.
        with self.store.exclusive_if_free():
            return self._instead(spawn, definition)

    def task_holder(self) -> TaskHolder:
        """As whom the giver claims tasks."""
        from bridge.tasks.claims import holder_in, holder_of_run

        known = holder_of_run(self.store, self.parent)
        return known or holder_in(self.hook.session, self.agent_id, self.parent)

    def _instead(self, spawn: Spawn, definition: Definition | None) -> Told:
        """Offer a request in place of the call."""
        if not self._can_start():
            raise NotPossible(
                "the agent that made the call has no tool to start others"
            )
        store, key = self.store, self.key_of(spawn)
        earlier = find_handover(store, self.holder, key)
        if earlier:
            from bridge.host.unseen_ends import take_stopped

            # It may be over by its time or by the user, and nobody has looked since.
            store.sweep()
            take_stopped(self.hook, earlier)
        found = store.find(RequestId(earlier)) if earlier else None
        if found is not None and found.response is not None:
            note_handover(store, self.holder, key, None)
            if not found.response.success and not spawn.rule.get("required"):
                return Told(_failed_before(spawn, found))
        elif found is not None and found.request is not None:
            return self._again(spawn, found.request)
        request = self.request_of(spawn, definition)
        self.offer(request, key)
        return _offer(spawn, request.request_id)

    def _again(self, spawn: Spawn, request: Request) -> Told:
        """The same call once more, while its request is open."""
        hook, claim = self.hook, request.claim
        if claim is not None and claim.launched_at is not None:
            return Told(
                f"hostbridge: {spawn.agent} already works on this, and its answer will "
                "come. Do not run it yourself.",
                is_refusal=True,
            )
        if claim is not None and len(claim.offers) >= hook.settings.max_offers:
            why = "the model did not call the agent that it was asked to call"
            if cause := why_no_agents(hook):
                why = f"{why}: {cause}"
            note_handover(hook.store, self.holder, self.key_of(spawn), None)
            give_up(hook.store, request, "declined", why)
            raise NotPossible(why)
        hook.store.change_claim(
            RequestId(request.request_id),
            hook.session.host,
            lambda held: held.with_(offers=(*held.offers, hook.now_ms())),
            event="offered again",
        )
        return _offer(spawn, request.request_id)


def _beside(delegator: Delegator, spawn: Spawn, definition: Definition | None) -> Told:
    """Ask an agent beside what goes on, unless the same is asked already."""
    key = BESIDE + delegator.key_of(spawn)
    earlier = find_handover(delegator.store, delegator.holder, key)
    if earlier and delegator.store.find_unfinished(RequestId(earlier)) is not None:
        return Told("")
    request = delegator.request_of(spawn, definition).with_(session=delegator.holder)
    delegator.store.submit(request, fan_out=delegator.settings.fan_out)
    note_handover(delegator.store, delegator.holder, key, request.request_id)
    return Told("")


def offer_to_caller(hook: HookContext, request: Request, key: str) -> None:
    """Submit a request that only who made the call of this event may start.

    It is claimed at once, so that nobody else in the session is asked to start it. One
    that is there already, since a kill came in between, is gone on with.

    Raises:
        NotPossible: the session cannot take it; it has ended.
    """
    known = hook.store.find(RequestId(request.request_id))
    if known is None:
        hook.store.submit(request)
    elif not _is_claimed(hook, known):
        # It may be half claimed.
        hook.store.sweep()
    if not _is_claimed(hook, known) and not hook.store.claim(
        hook.claimant,
        hook.settings.slots,
        judge_for(hook),
        only=RequestId(request.request_id),
    ):
        why = _why_not_taken(hook, request)
        give_up(hook.store, request, "cancelled", why)
        raise NotPossible(why)
    agent_id = hook.event.agent_id
    note_handover(
        hook.store, hook.session.session_id, key, request.request_id, agent_id
    )
    if not agent_id:
        mark_open(hook)


def _is_claimed(hook: HookContext, known: Found | None) -> bool:
    """Whether a request is with this session already."""
    claim = known.request.claim if known and known.request else None
    return claim is not None and claim.host == hook.session.host


def can_start(agent_type: str | None, run: AgentRun | None, depth: int) -> bool:
    """Whether who makes a call could call Agent in its place.

    `agent_type` is the client's name for the agent, None for the main thread; `run`
    its record, if it is ours; `depth` how many agents would stand above.
    """
    if agent_type is None:
        return True
    if run is not None and not permits(run.tools, run.blocked_tools, "Agent"):
        return False
    return agent_type not in _WITHOUT_AGENT and depth <= _LAST_LEVEL


def _offer(spawn: Spawn, request_id: str) -> Told:
    call = json.dumps({"description": "b", "prompt": PREFIX + request_id})
    return Told(
        f"hostbridge: the rule {spawn.rule['name']} gives this to the agent "
        f"{spawn.agent}. Do not run it yourself: call Agent once with\n{call}\n"
        f"and go on with its answer. [{place_of(spawn.rule)}]",
        is_refusal=True,
    )


def _failed_before(spawn: Spawn, found: Found) -> str:
    error = found.response.error if found.response else None
    how = error.code if error else "no success"
    return f"{spawn.agent} did not do it ({how}), so this call runs, once"


def _why_not_taken(hook: HookContext, request: Request) -> str:
    found = hook.store.find(RequestId(request.request_id))
    error = found.response.error if found and found.response else None
    if error is not None:
        return error.message
    if spent := find_spent(session_now(hook), uptime(hook.store.clock)):
        return spent.why
    return f"all {hook.settings.slots} places for agents in this session are taken"
