"""Agents that rules and steps name, in processes of their own: `mode: headless`.

The hook starts the process, waits for the answer, and refuses the call with it: no
model has to obey. The request is an ordinary one, of the agent's own route, and its
process (`bridge.worker.one_request`) outlives the hook: whatever ends the hook (its
time, Esc, a kill), the same call again meets the same request, and an answer that
nobody was told wakes the session.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bridge.bound.answer_wait import MAX_WAIT_S, answer_text, why_failed
from bridge.bound.delegation import (
    Delegator,
    NotPossible,
    Told,
    give_up,
    not_started,
)
from bridge.errors import BridgeError
from bridge.policy.rule_decision import Decision, Spawn
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.routes import OWN
from bridge.store.location import Place
from bridge.store.store import Store
from bridge.store.tool_calls import (
    BESIDE,
    HEADLESS,
    find_handover,
    handed_over,
    note_handover,
    untold,
)

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.config import Settings
    from bridge.routes import RouteName

# Called before an agent is started; raises if none may be.
Begin = Callable[[Request], None]

# How long one that was started may take to begin; two do no harm, since one claims it.
_START_S = 5.0
# What a hook needs beside the wait.
_REST_S = 10


def is_headless(definition: Definition | None) -> bool:
    """Whether an agent runs in a process of its own, not in the session."""
    return definition is not None and (
        definition.mode == "headless" or "host" not in definition.routes
    )


def own_route(definition: Definition | None, settings: Settings) -> RouteName:
    """The route of an agent that no session runs.

    Raises:
        NotPossible: it takes none.
    """
    usual: RouteName = "claude"
    for route in OWN:
        if route == settings.cli_fallback:
            usual = route
    routes = definition.routes if definition else (usual,)
    own = next((route for route in routes if route != "host"), None)
    if own is None:
        raise NotPossible("it is headless, and its routes name only the host")
    return own


def begin_beside(delegator: Delegator, request: Request, key: str) -> None:
    """Have an agent of a process of its own begin; nobody here waits for it.

    The same again, after a kill, starts nothing twice.

    Raises:
        BridgeError: it may not run.
    """
    store, request_id = delegator.store, RequestId(request.request_id)
    with store.exclusive_if_free():
        found = store.find(request_id)
        if found is None:
            _check_room(delegator)
            delegator.count(request)
            store.submit(request)
        note_handover(
            store, delegator.holder, BESIDE + key, request_id, delegator.agent_id
        )
    waiting = store.find_unfinished(request_id)
    if waiting is not None and waiting.claim is None:
        _start(store.place, request_id)


def give(delegator: Delegator, decision: Decision) -> bool:
    """Give work to agents as rules say, and add to the decision what comes of it.

    Returns whether a call is refused, since an agent does its work instead.
    """
    is_instead = False
    for spawn in decision.spawns:
        told = _given(delegator, spawn)
        decision.notes += told.notes
        if spawn.is_handover and told.is_refusal:
            decision.block, is_instead = told.text, True
        else:
            decision.notes += filter(None, [told.text])
    return is_instead


def _given(delegator: Delegator, spawn: Spawn) -> Told:
    """What comes of it; an agent that needs no session has a process of its own."""
    try:
        definition = delegator.find_definition(spawn)
        if not is_headless(definition):
            return delegator.hand_over(spawn, definition)
        _take_time()
        return _ask(delegator, spawn, definition)
    except BridgeError as error:
        return not_started(spawn, error)


def _take_time() -> None:
    """Put a hook's own end off until after the wait; its entry allows for that."""
    most_s = MAX_WAIT_S + _REST_S
    if 0 < signal.getitimer(signal.ITIMER_REAL)[0] < most_s:
        signal.setitimer(signal.ITIMER_REAL, most_s, 1)


def _ask(delegator: Delegator, spawn: Spawn, definition: Definition | None) -> Told:
    """Have the agent do it, and wait for that if it takes the place of the call."""
    store = delegator.store
    kind = HEADLESS if spawn.is_handover else BESIDE
    key = kind + delegator.key_of(spawn)
    # The hook of another entry may see the same call at the same time.
    with store.exclusive_if_free():
        request_id = _open_request(delegator, key, is_answer_wanted=spawn.is_handover)
        if request_id is None:
            _check_room(delegator)
            route = own_route(definition, delegator.settings)
            request = delegator.request_of(spawn, definition, route=route)
            delegator.count(request)
            store.submit(request)
            request_id = request.request_id
            note_handover(store, delegator.holder, key, request_id, delegator.agent_id)
    if not spawn.is_handover:
        _start(store.place, request_id)
        return Told("")
    response = _wait(delegator, request_id)
    if response is None:
        return Told(
            f"hostbridge: the rule {spawn.rule['name']} gives this to the agent "
            f"{spawn.agent}, which still works on it. Do not do it yourself: its "
            "answer will be told to you. To wait for it, make the same call again.",
            is_refusal=True,
        )
    note_handover(store, delegator.holder, key, None)
    return _told(delegator, spawn, request_id, response)


def _open_request(
    delegator: Delegator, key: str, *, is_answer_wanted: bool
) -> str | None:
    """The request that this call was given to before, if that is not over."""
    earlier = find_handover(delegator.store, delegator.holder, key)
    if earlier is None:
        return None
    found = delegator.store.find(RequestId(earlier))
    is_answered = found is not None and found.response is not None
    is_open = found is not None and (is_answer_wanted or not is_answered)
    return earlier if is_open else None


def _check_room(delegator: Delegator) -> None:
    """Check that one more may run: below its giver, and beside those started here."""
    most, depth = delegator.settings.max_depth, delegator.depth
    if depth > most:
        above = f"{depth} agents stand above it; {most} is the limit (max_depth)"
        raise NotPossible(above)
    store, slots = delegator.store, delegator.settings.slots
    given = map(RequestId, handed_over(store, delegator.holder))
    # One that nobody has claimed by then waits for the same call to be made again.
    young_ms = store.now_ms() - int(_START_S * 1000)
    running = [
        request
        for request in map(store.find_unfinished, given)
        if request and request.route != "host"
        if request.claim or request.created_at > young_ms
    ]
    if len(running) >= slots:
        taken = f"all {slots} places for agents in processes of their own are taken"
        raise NotPossible(taken)


def _start(place: Place, request_id: str, session_id: str = "") -> bool:
    """Start the process that serves the request; whether it could start.

    It works until the session ends, if one is named.
    """
    from bridge.process.detached import start_detached

    return start_detached(place, "bridge.worker.one_request", request_id, session_id)


def _wait(delegator: Delegator, request_id: str) -> dict[str, Any] | None:
    """The response once it is there; None if it is not in time.

    Whoever waits has the work begun, again if the process that did it is gone.
    """
    store, known = delegator.store, RequestId(request_id)
    # The process of an agent's agent is below that one's, and ends with it.
    session_id = "" if delegator.holder == delegator.parent else delegator.holder
    start_s = 0.0

    def tend() -> None:
        nonlocal start_s
        # What a killed process held waits again.
        store.sweep()
        request, now_s = store.find_unfinished(known), time.monotonic()
        if request is not None and delegator.is_over():
            give_up(store, request, "cancelled", "nobody waits for it any more")
        elif request is not None and request.claim is None and now_s >= start_s:
            start_s = now_s + _START_S
            if not _start(store.place, request_id, session_id):
                give_up(store, request, "host_gone", "its process cannot start")

    tend()
    found = store.wait([known], timeout_s=MAX_WAIT_S, tend=tend)
    return next((response.to_data() for response in found), None)


def _response(store: Store, request_id: str) -> dict[str, Any] | None:
    """The answer to a request, as JSON; a file that somebody else wrote is none."""
    if not os.path.lexists(f"{store.place.state}/responses/{request_id}.json"):
        return None
    found = store.find(RequestId(request_id))
    response = found.response if found else None
    return None if response is None else response.to_data()


def _told(
    delegator: Delegator, spawn: Spawn, request_id: str, response: dict[str, Any]
) -> Told:
    notes = tuple(rule_notes(delegator.store, request_id))
    if response.get("parsedOutput") is None:
        told = not_started(spawn, f"it did not answer {why_failed(response)}")
        return told._replace(notes=notes)
    by = response.get("model") or response.get("route")
    degraded = f" (degraded: by {by})" if response.get("degraded") else ""
    head = (
        f"hostbridge: the rule {spawn.rule['name']} gave this to the agent "
        f"{spawn.agent}, which answered{degraded}:"
    )
    text = answer_text(head, request_id, response)
    return Told(text, is_refusal=True, notes=notes)


def rule_notes(store: Store, request_id: str) -> list[str]:
    """What rules could not do inside an agent, for the user to read."""
    log = store.run_log(request_id)
    return [str(event.get("note")) for event in log if event.get("event") == "rule"]


def late_answers(store: Store, session_id: str) -> str:
    """The answers that a session has not been told, once; empty if there are none.

    A hook that waits for one tells it by itself.
    """
    texts = []
    for key, request_id in untold(store, session_id).items():
        response = _response(store, request_id)
        if response is None:
            continue
        note_handover(store, session_id, key, None)
        found = store.find(RequestId(request_id))
        agent = found.request.agent_type if found and found.request else "an agent"
        if response.get("parsedOutput") is None:
            why = f"did not answer {why_failed(response)}; the call may be made again"
            texts.append(f"hostbridge: {agent} {why}")
        else:
            head = f"hostbridge: {agent}, which a rule gave a call of yours, answered:"
            texts.append(answer_text(head, request_id, response))
    return "\n\n".join(texts)
