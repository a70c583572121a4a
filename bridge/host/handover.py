"""A rule gives the work of a call to an agent: the call is refused with an offer.

The request is the session's own, claimed at once, and its answer comes back to the
model that made the call. A call that is made again meets the same request. Where the
work cannot be handed over, the call runs, and the user is told why; a rule that says
`required: true` refuses it then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from bridge.bound.budgets import find_spent
from bridge.bound.rule_request import Delegator, NotPossible, Told, give_up, not_started
from bridge.errors import BridgeError
from bridge.host import runs
from bridge.host.budget_news import session_now
from bridge.host.context import HookContext
from bridge.host.denied_agents import why_no_agents
from bridge.host.headless import ask_headless, is_headless, take_time
from bridge.host.offers import judge_for, mark_open
from bridge.host.request_tokens import PREFIX
from bridge.policy.rule_decision import Spawn
from bridge.policy.rule_set import Whose, place_of
from bridge.policy.tool_lists import permits
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.store import Found, sessions
from bridge.store.clock import uptime
from bridge.store.subagent_runs import AgentRun
from bridge.store.tool_calls import BESIDE, callers, find_handover, note_handover

if TYPE_CHECKING:
    from bridge.agents.definition import Definition

# The client's own agents that have no tool Agent; nor has an agent below this depth.
# Source: measured on Claude Code 2.1.330.
_WITHOUT_AGENT = frozenset({"Explore", "Plan"})
_LAST_LEVEL = 1


def hand_over(
    hook: HookContext, spawn: Spawn, whose: Whose, changes: Mapping[str, Any]
) -> Told:
    """Give work to an agent, in the place of a call or beside it.

    `whose` makes the call, or is what the event is about; `changes` are variables that
    the same event has set.
    """
    run = runs.find_run(hook.store, hook.event)
    delegator = Delegator(
        hook.settings,
        hook.store,
        hook.session.session_id,
        agent_id=hook.event.agent_id,
        depth=whose.depth,
        parent=run.request_id if run else None,
        variables={**whose.variables, **changes},
    )
    try:
        definition = delegator.find_definition(spawn)
        if is_headless(definition):
            take_time()
            return ask_headless(
                delegator, spawn, definition, begin=partial(count_agent, hook)
            )
        if not spawn.is_handover:
            return _beside(delegator, spawn, definition)
        # The hook of another entry may see the same call at the same time.
        with hook.store.exclusive_if_free():
            return _instead(hook, run, delegator, spawn, definition)
    except BridgeError as error:
        return not_started(spawn, error)


def count_agent(hook: HookContext, request: Request) -> None:
    """An agent that a process of its own runs is one of the session's, too.

    Raises:
        NotPossible: the session's budgets are spent.
    """
    if limit := find_spent(session_now(hook), uptime(hook.store.clock)):
        raise NotPossible(f"{limit.why}; more now: {limit.cure}")
    left_ms = max(0, request.deadline_ms - hook.now_ms())
    sessions.note_launch(hook.store, hook.session, request.request_id, left_ms=left_ms)


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


def _instead(
    hook: HookContext,
    run: AgentRun | None,
    delegator: Delegator,
    spawn: Spawn,
    definition: Definition | None,
) -> Told:
    """Offer a request in place of the call."""
    kind = hook.event.text("agent_type") if hook.event.agent_id else None
    if not can_start(kind, run, delegator.depth):
        raise NotPossible("the agent that made the call has no tool to start others")
    key = delegator.key_of(spawn)
    session_id = delegator.holder
    earlier = find_handover(hook.store, session_id, key)
    if earlier:
        from bridge.host.unseen_ends import take_stopped

        # It may be over by its time or by the user, and nobody has looked since.
        hook.store.sweep()
        take_stopped(hook, earlier)
    found = hook.store.find(RequestId(earlier)) if earlier else None
    if found is not None and found.response is not None:
        note_handover(hook.store, session_id, key, None)
        if not found.response.success and not spawn.rule.get("required"):
            return Told(_failed_before(spawn, found))
    elif found is not None and found.request is not None:
        return _again(hook, delegator, spawn, found.request)
    request = delegator.request_of(spawn, definition).with_(session=session_id)
    offer_to_caller(hook, request, key)
    return _offer(spawn, request.request_id)


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


def _again(
    hook: HookContext, delegator: Delegator, spawn: Spawn, request: Request
) -> Told:
    """The same call once more, while its request is open."""
    claim = request.claim
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
        note_handover(hook.store, delegator.holder, delegator.key_of(spawn), None)
        give_up(hook.store, request, "declined", why)
        raise NotPossible(why)
    hook.store.change_claim(
        RequestId(request.request_id),
        hook.session.host,
        lambda held: held.with_(offers=(*held.offers, hook.now_ms())),
        event="offered again",
    )
    return _offer(spawn, request.request_id)


def may_launch(hook: HookContext, request_id: str) -> bool:
    """Whether the agent of this event was asked to start the agent of a request."""
    known = callers(hook.store, hook.session.session_id)
    return known.get(request_id) == hook.event.agent_id


def note_wait(hook: HookContext, request: Request) -> None:
    """Have the turn wait for the agent, if a rule gave it what a call was to do.

    Without a terminal or a stream the call itself waits.
    """
    if hook.session.one_shot:
        return
    store = hook.store
    if request.request_id not in callers(store, hook.session.session_id):
        return
    note = {
        "requestId": request.request_id,
        "agent": request.agent_type,
        "until": uptime(store.clock).ms + request.deadline_ms - store.now_ms(),
    }
    with store.folder("agents") as folder:
        name = f"{hook.event.tool_use_id}.wait"
        folder.replace(name, json.dumps(note).encode(), durable=False)


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
