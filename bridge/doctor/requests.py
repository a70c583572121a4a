"""Requests that wait, or that were offered and not started: why, and what helps.

The table of common issues, as far as it concerns what is not answered yet:

    nothing processes requests      no session, switched off, or its hooks do not run
    its deadline has passed         nobody was there to end it
    a request stays pending         it is for another session, declined, over a budget
    offered, but no agent started   the model has not made the call
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from bridge.doctor.finding import Finding, Verdict, ok, warning
from bridge.host.offer_text import instruction
from bridge.host.output import context
from bridge.host.wake_problems import JUST_STARTED, NO_WATCH, UNANSWERED, why_unheard
from bridge.protocol.ids import RequestId
from bridge.store import sessions, switch
from bridge.store.host_process import Liveness, liveness
from bridge.store.queries import why_unreadable
from bridge.store.waiting_order import waiting_in_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bridge.doctor.subject import Subject
    from bridge.host.wake_problems import Unheard
    from bridge.protocol.request import Request
    from bridge.store.sessions import Session
    from bridge.store.state import State

# A bell is answered within a second or two, an offer within a turn of the model.
_SOON_MS = 10_000
_TURN_MS = 60_000
_LOOKED_AT = 500
_NAMED = 3
_CLIENT_CAP = 10_000


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits, what is held, and who could take it. Times are milliseconds."""

    waiting: tuple[Request, ...]
    held: tuple[Request, ...]
    live: tuple[Session, ...]
    off: frozenset[str]
    is_off: bool
    is_off_here: bool
    slots: int
    agents_per_hour: int
    now_ms: int
    unheard: Mapping[str, Unheard | None] = field(default_factory=dict)


def _reason(verdict: Verdict, what: str, cause: str = "", cure: str = "") -> Finding:
    """Why requests stand still; which ones is added where it is reported."""
    return Finding("requests", verdict, what, cause, cure)


OVERDUE = _reason(
    Verdict.WARNING,
    "overdue",
    "the deadline has passed; nobody waits for it, and no session has looked since",
    "hostbridge prune ends it, as does a look at it (status, show)",
)
OFF = _reason(
    Verdict.PROBLEM,
    "waiting, and the bridge is switched off",
    "`hostbridge off`",
    "hostbridge on",
)
OFF_HERE = _reason(
    Verdict.PROBLEM,
    "waiting, and no session is open; BRIDGE_OFF is set in this shell",
    "the hooks of a session that is started with it do nothing",
    "unset BRIDGE_OFF, then start `claude` in the project",
)
NO_SESSION = _reason(
    Verdict.PROBLEM,
    "waiting, and no session is open that could answer",
    "no Claude Code session of this project has run a hook of ours and is still open",
    "start `claude` in the project; if one is open, see `hooks` and `session`",
)
OTHER_SESSION = _reason(
    Verdict.WARNING,
    "waiting for a session that is not open",
    "asked with --session, for that one alone",
    "open it again (claude --resume), or cancel and ask without --session",
)
DECLINED = _reason(
    Verdict.PROBLEM,
    "waiting, and every open session has declined",
    "the model ignored each offer",
    "hostbridge doctor --live shows whether it takes any; restart the session",
)
SWITCHED_OFF = _reason(
    Verdict.WARNING,
    "waiting, and the sessions that could take it are switched off",
    "`hostbridge off --session`",
    "hostbridge on --session ID",
)
BUDGET = _reason(
    Verdict.WARNING,
    "waiting, and the sessions have used up their agents of this hour",
    "BRIDGE_AGENTS_PER_HOUR",
    "wait, or raise it for the session that answers",
)
SLOTS = _reason(
    Verdict.OK,
    "waiting for a free slot",
    "as many agents run as may at once (BRIDGE_SLOTS)",
)
# Why the open sessions do not hear of it.
NOT_HEARD = {
    why: _reason(
        verdict, f"waiting, and the open session {why.what}", why.cause, why.cure
    )
    for why, verdict in (
        (JUST_STARTED, Verdict.OK),
        (NO_WATCH, Verdict.WARNING),
        (UNANSWERED, Verdict.PROBLEM),
    )
}
UNHEARD = _reason(
    Verdict.PROBLEM,
    "waiting, though a session is open that should have taken it",
    "nobody rang for it, or its hooks took nothing: they fail, or look elsewhere",
    "type anything into the session; see `hook errors`, `hooks run` and `place`; "
    "hostbridge doctor --live",
)
UNSERVED = _reason(
    Verdict.WARNING,
    "waiting for `hostbridge serve`",
    "submitted for the route claude, local or endpoint, which no session takes",
    "hostbridge serve",
)
YOUNG = _reason(Verdict.OK, "asked just now")
NOT_LAUNCHED = _reason(
    Verdict.WARNING,
    "offered, but no agent was started",
    "the model has not made the call it was asked to make, or a dialog is open",
    "look at the session; the offer is repeated, and given back after the last time",
)
ORPHANED = _reason(
    Verdict.WARNING,
    "held by a session that is gone",
    "its process ended without a word",
    "nothing to do: the next hook or waiter takes it back",
)
DESERTED = _reason(
    Verdict.WARNING,
    "held by a process that served it and is gone",
    "it was killed",
    "nothing to do: the next hook or waiter takes it back",
)


def stuck(subject: Subject) -> Iterator[Finding]:
    """Requests that stand still, by reason."""
    store = subject.store()
    if store is None or not store.place.state.is_dir():
        return
    with store.state() as state:
        ids = islice(waiting_in_order(state), _LOOKED_AT)
        # One that was killed while it tidied up has left what is answered already.
        looked = [
            state.waiting(name)
            for name in ids
            if not state["responses"].has(f"{name}.json")
        ]
        unread = sorted(state.unread.items())
        newer = [name for name, why in unread if why == "newer"]
        others = [name for name, why in unread if why != "newer"]
        yield from _unreadable(
            state, newer, "waiting for a newer hostbridge", "upgrade this one"
        )
        yield from _unreadable(
            state,
            others,
            "waiting, and nobody can read it",
            "as it says; the next hook or `serve` that looks puts it aside",
        )
    settings = subject.settings
    live = tuple(sessions.live_sessions(store))
    queue = Queue(
        waiting=tuple(request for request in looked if request),
        held=tuple(store.claimed()),
        live=live,
        off=frozenset(s.session_id for s in live if switch.is_off(store, s.session_id)),
        is_off=switch.is_off(store),
        is_off_here=settings.off,
        slots=settings.slots,
        agents_per_hour=settings.agents_per_hour,
        now_ms=store.now_ms(),
        unheard={s.session_id: why_unheard(store, s) for s in live},
    )
    yield from judge(queue)


def _unreadable(
    state: State, names: list[str], what: str, cure: str
) -> Iterator[Finding]:
    """One finding for files that wait and cannot be read, the first with its reason."""
    if names:
        why = why_unreadable(state, RequestId(names[0])) or "it is there no more"
        yield warning("requests", _named(what, names), cause=why, cure=cure)


def judge(queue: Queue) -> Iterator[Finding]:
    """One finding for each reason, with the requests it holds for."""
    grouped: dict[Finding, list[str]] = defaultdict(list)
    running = 0
    for request in queue.waiting:
        grouped[why_waiting(request, queue)].append(request.request_id)
    for request in queue.held:
        why = why_held(request, queue)
        if why is None:
            running += 1
        else:
            grouped[why].append(request.request_id)
    for why, ids in grouped.items():
        yield replace(why, found=_named(why.found, ids))
    if not grouped:
        yield ok("requests", f"none waits; {running} running")


def _named(what: str, ids: list[str]) -> str:
    named = ", ".join(ids[:_NAMED]) + (", …" if ids[_NAMED:] else "")
    return f"{len(ids)} {what}: {named}"


def why_waiting(request: Request, queue: Queue) -> Finding:
    """The first reason that keeps a request from being taken."""
    if queue.now_ms >= request.deadline_ms:
        return OVERDUE
    if queue.is_off:
        return OFF
    if request.route == "host":
        return _why_no_host(request, queue)
    return YOUNG if queue.now_ms - request.asked_ms < _SOON_MS else UNSERVED


def _why_no_host(request: Request, queue: Queue) -> Finding:
    if not queue.live:
        return OFF_HERE if queue.is_off_here else NO_SESSION
    meant = [s for s in queue.live if request.session in (None, *s.ids)]
    if not meant:
        return OTHER_SESSION
    willing = [s for s in meant if not s.ids & set(request.declined_by)]
    if not willing:
        return DECLINED
    awake = [s for s in willing if s.session_id not in queue.off]
    if not awake:
        return SWITCHED_OFF
    if all(_has_spent(s, queue) for s in awake):
        return BUDGET
    if all(_is_full(s, queue) for s in awake):
        return SLOTS
    if queue.now_ms - request.asked_ms < _SOON_MS:
        return YOUNG
    deaf = [why for s in awake if (why := queue.unheard.get(s.session_id))]
    return NOT_HEARD[deaf[0]] if len(deaf) == len(awake) else UNHEARD


def why_held(request: Request, queue: Queue) -> Finding | None:
    """What is wrong with a claim; None when an agent works, or soon will."""
    claim = request.claim
    if queue.now_ms >= request.deadline_ms:
        return OVERDUE
    if claim is None:
        return ORPHANED
    if claim.route != "host":
        return DESERTED if liveness(claim.host) is Liveness.GONE else None
    if not any(session.host == claim.host for session in queue.live):
        return ORPHANED
    first = claim.offers[0] if claim.offers else claim.at
    if claim.launched_at is None and not 0 <= queue.now_ms - first <= _TURN_MS:
        return NOT_LAUNCHED
    return None


def _has_spent(session: Session, queue: Queue) -> bool:
    return len(session.launches_of_hour(queue.now_ms)) >= queue.agents_per_hour


def _is_full(session: Session, queue: Queue) -> bool:
    held = sum(r.claim is not None and r.claim.host == session.host for r in queue.held)
    return held >= queue.slots


def output_cap(_subject: Subject) -> Iterator[Finding]:
    """Whether an offer of 500 requests stays below what the client cuts."""
    longest = instruction(["x" * 128] * 500)
    said = json.loads(context("PostToolUse", longest).stdout)
    size = len(said["hookSpecificOutput"]["additionalContext"])
    if size < _CLIENT_CAP:
        yield ok("output", f"500 offers at once are {size:,} characters in the session")
        return
    yield Finding(
        "output",
        Verdict.PROBLEM,
        f"500 offers at once are {size:,} characters; the client cuts {_CLIENT_CAP:,}",
        "a bug of hostbridge",
        "report it",
    )
