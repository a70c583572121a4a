"""A rule gives the work of a call to an agent: the call is refused with an offer.

The request is the session's own, claimed at once, and its answer comes back to the
model that made the call. A call that is made again meets the same request. Where the
work cannot be handed over, the call runs, and the user is told why; a rule that says
`required: true` refuses it then.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.errors import BridgeError
from bridge.host import runs
from bridge.host.gate import permits
from bridge.host.offers import judge_for, mark_open
from bridge.host.request_tokens import PREFIX
from bridge.policy.rule_set import label_of, place_of
from bridge.protocol.ids import RequestId, new_request_id
from bridge.protocol.request import Request
from bridge.protocol.response import failed
from bridge.store.clock import uptime
from bridge.store.handovers import BESIDE, callers, find_handover, note_handover

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.host.context import HookContext
    from bridge.policy.rule_set import Spawn, Whose
    from bridge.protocol.failure_codes import FailureCode
    from bridge.store import Found
    from bridge.store.subagent_runs import AgentRun

# The client's own agents that have no tool Agent; nor has an agent below this depth.
# Source: measured on Claude Code 2.1.330.
_WITHOUT_AGENT = frozenset({"Explore", "Plan"})
_LAST_LEVEL = 1


class Told(NamedTuple):
    """What comes of it: why the call is refused, or why it runs after all."""

    text: str
    is_refusal: bool = False


class NotPossible(BridgeError):
    """The work cannot be handed over."""

    code = "declined"


def hand_over(
    hook: HookContext, spawn: Spawn, whose: Whose, changes: Mapping[str, Any]
) -> Told:
    """Give work to an agent, in the place of a call or beside it.

    `whose` makes the call, or is what the event is about; `changes` are variables that
    the same event has set.
    """
    variables = {**whose.variables, **changes}
    try:
        if not spawn.is_handover:
            return _beside(hook, spawn, variables, whose.depth)
        # The hook of another entry may see the same call at the same time.
        with hook.store.exclusive_if_free():
            return _instead(hook, spawn, variables, whose.depth)
    except BridgeError as error:
        why = f"rule {label_of(spawn.rule)} could not start {spawn.agent}: {error}"
        if spawn.is_handover and spawn.rule.get("required"):
            return Told(f"hostbridge: {why}. The rule requires it.", is_refusal=True)
        return Told(why)


def _beside(
    hook: HookContext, spawn: Spawn, variables: dict[str, Any], depth: int
) -> Told:
    """Ask an agent beside what goes on, unless the same is asked already."""
    key = BESIDE + _key(hook, spawn)
    session_id = hook.session.session_id
    earlier = find_handover(hook.store, session_id, key)
    if earlier and hook.store.find_unfinished(RequestId(earlier)) is not None:
        return Told("")
    request = _request(hook, spawn, variables, depth)
    hook.store.submit(request)
    note_handover(hook.store, session_id, key, request.request_id)
    return Told("")


def _instead(
    hook: HookContext, spawn: Spawn, variables: dict[str, Any], depth: int
) -> Told:
    """Offer a request in place of the call."""
    caller = runs.find_run(hook.store, hook.event)
    kind = hook.event.text("agent_type") if hook.event.agent_id else None
    if not can_start(kind, caller, depth):
        raise NotPossible("the agent that made the call has no tool to start others")
    key = _key(hook, spawn)
    session_id = hook.session.session_id
    earlier = find_handover(hook.store, session_id, key)
    found = hook.store.find(RequestId(earlier)) if earlier else None
    if found is not None and found.response is not None:
        note_handover(hook.store, session_id, key, None)
        if not found.response.success and not spawn.rule.get("required"):
            return Told(_failed_before(spawn, found))
    elif found is not None and found.request is not None:
        return _again(hook, spawn, found.request, key)
    parent = caller.request_id if caller else None
    request = _request(hook, spawn, variables, depth).with_(parent_request_id=parent)
    offer_to_caller(hook, request, key)
    return _offer(spawn, request.request_id)


def offer_to_caller(hook: HookContext, request: Request, key: str) -> None:
    """Submit a request that only who made the call of this event may start.

    It is claimed at once, so that nobody else in the session is asked to start it.

    Raises:
        NotPossible: the session cannot take it; it has ended.
    """
    hook.store.submit(request)
    taken = hook.store.claim(
        hook.claimant,
        hook.settings.slots,
        lambda waiting: judge_for(hook, waiting),
        only=RequestId(request.request_id),
    )
    if not taken:
        why = _why_not_taken(hook, request)
        _give_up(hook, request, "cancelled", why)
        raise NotPossible(why)
    agent_id = hook.event.agent_id
    note_handover(
        hook.store, hook.session.session_id, key, request.request_id, agent_id
    )
    if not agent_id:
        mark_open(hook)


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


def _again(hook: HookContext, spawn: Spawn, request: Request, key: str) -> Told:
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
        note_handover(hook.store, hook.session.session_id, key, None)
        _give_up(hook, request, "declined", why)
        raise NotPossible(why)
    hook.store.change_claim(
        RequestId(request.request_id),
        hook.session.host,
        lambda held: held.with_(offers=(*held.offers, hook.now_ms())),
        event="offered again",
    )
    return _offer(spawn, request.request_id)


def _give_up(hook: HookContext, request: Request, code: FailureCode, why: str) -> None:
    response = failed(request, code, why, now_ms=hook.now_ms())
    hook.store.publish(response, source="rule")


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
    if request.request_id not in callers(hook.store, hook.session.session_id):
        return
    note = {
        "requestId": request.request_id,
        "agent": request.agent_type,
        "until": request.deadline_ms,
    }
    with hook.store.folder("agents") as folder:
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
    return f"all {hook.settings.slots} places for agents in this session are taken"


def _request(
    hook: HookContext, spawn: Spawn, variables: dict[str, Any], depth: int
) -> Request:
    """The request, with the definition of its agent applied.

    Raises:
        BridgeError: there is no such agent, or it cannot be asked like this.
    """
    from bridge.agents.known_agents import Agents

    definition = Agents.open(hook.settings, hook.store.place.project).find(spawn.agent)
    fields: dict[str, Any] = {}
    if definition is not None:
        from bridge.agents.apply import applied, choices

        fields = choices(definition)
    if spawn.model is not None:
        fields["model"] = spawn.model
    now_us = hook.store.clock.now_us()
    priority = fields.pop("priority", "high")
    request = Request(
        request_id=new_request_id(now_us, priority),
        agent_type=spawn.agent,
        prompt=spawn.prompt,
        arguments=spawn.arguments,
        created_at=now_us // 1000,
        uptime=uptime(hook.store.clock),
        requester=f"rule {spawn.rule['name']}"[:60],
        session=hook.session.session_id,
        depth=depth,
        priority=priority,
        answer_to_host=True,
        **fields,
    )
    if definition is None:
        return request.with_(variables=variables)
    return applied(definition, request, variables)


def _key(hook: HookContext, spawn: Spawn) -> str:
    """Stands for the rule, who makes the call, and what it says."""
    said = [place_of(spawn.rule), hook.event.agent_id, spawn.agent, spawn.prompt]
    return hashlib.sha256(json.dumps(said).encode("utf-8", "replace")).hexdigest()
