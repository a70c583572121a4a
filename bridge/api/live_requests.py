"""One request that has not ended: where it is worked on, how far, or why it waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bridge.host.waits import NOBODY, Around, Waits, why_waits
from bridge.protocol.request import Request
from bridge.protocol.status import Stage
from bridge.protocol.wording import one_line
from bridge.store import live_runs, tool_calls
from bridge.store.claim import is_abandoned

if TYPE_CHECKING:
    from bridge.bound.budgets import HeldBack
    from bridge.protocol.claim import Claim
    from bridge.store.state import State
    from bridge.store.store import Store

EXCERPT_CHARS = 120
# How many events at the end of a log are looked at for the turn it is in.
_LAST_EVENTS = 20


class LiveRequest(NamedTuple):
    """One request that has not ended; `left_s` is below 0 when it is overdue.

    `route` is the one that holds it, or may take it; on routes other than host,
    `session` is the process. `is_abandoned`: its process is gone; the next sweep lets
    it wait again or ends it. `excerpt` is how the prompt begins. `held_back` is the
    limit of a session that it waits for, `waits` why it waits at all. `context` is
    session if its agent is a fork of the session's conversation.

    Of one that is held: the `pid`, for how long (`held_s`), the `model` that was asked
    for, and where it stands, as far as that is known: the `turn` of a run of our own,
    how many tool `calls` a session's agent has made, the `tool` that runs.
    """

    request_id: str
    stage: Stage
    is_abandoned: bool
    agent: str
    requester: str
    priority: str
    route: str
    session: str | None
    age_s: float
    left_s: float
    excerpt: str
    held_back: HeldBack | None = None
    waits: Waits | None = None
    model: str | None = None
    context: str | None = None
    pid: int | None = None
    held_s: float | None = None
    turn: int | None = None
    calls: int | None = None
    tool: str | None = None


class _Stands(NamedTuple):
    turn: int | None = None
    calls: int | None = None
    tool: str | None = None


def live_request(
    store: Store, state: State, request: Request, around: Around
) -> LiveRequest:
    """Look at one request."""
    claim = request.claim
    now_ms = state.now_ms()
    waits = None if claim else why_waits(request, around)
    is_alone = waits is not None and waits.kind in NOBODY and request.route == "host"
    since_ms = (claim.launched_at or claim.at) if claim else None
    return LiveRequest(
        request_id=request.request_id,
        stage=Stage.NO_HOST if is_alone else request.stage_at(now_ms),
        is_abandoned=is_abandoned(claim),
        agent=request.agent_type,
        requester=request.requester or "",
        priority=request.priority,
        route=claim.route if claim else request.route,
        session=claim.session if claim else None,
        age_s=(now_ms - request.asked_ms) / 1000,
        left_s=(request.deadline_ms - now_ms) / 1000,
        excerpt=one_line(request.prompt, EXCERPT_CHARS),
        held_back=waits.limit if waits else None,
        waits=waits,
        model=request.model,
        context=request.context_from,
        pid=claim.host.pid if claim else None,
        held_s=None if since_ms is None else max(0, now_ms - since_ms) / 1000,
        **(_stands(store, state, request, claim) if claim else _Stands())._asdict(),
    )


def _stands(store: Store, state: State, request: Request, claim: Claim) -> _Stands:
    """How far the one that holds a request is, as far as it is written down."""
    if claim.route != "host":
        return _turn(live_runs.last_of_log(state, request.request_id, _LAST_EVENTS))
    if not claim.agent_id:
        return _Stands()
    seen = tool_calls.seen_calls(store, claim.agent_id)
    running = [call.tool for call in seen if call.ok is None]
    return _Stands(calls=len(seen), tool=running[-1] if running else None)


def _turn(events: list[dict[str, object]]) -> _Stands:
    """The turn of a run of our own, and the tool that it waits for."""
    if not events:
        return _Stands()
    turns = [turn for e in events if isinstance(turn := e.get("turn"), int)]
    tool = events[-1].get("tool") if events[-1].get("event") == "tool_call" else None
    return _Stands(
        turn=turns[-1] if turns else None, tool=str(tool) if tool is not None else None
    )
