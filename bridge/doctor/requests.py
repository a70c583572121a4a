"""Requests that wait, or that were offered and not started: why, and what helps."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from bridge.api.hosts import OFF, OFF_HERE, NoHostReason, why_no_host
from bridge.bound.budgets import held_back
from bridge.config import Settings
from bridge.doctor.finding import Finding, ok, problem, warning
from bridge.doctor.subject import Subject
from bridge.host.wake_problems import (
    JUST_STARTED,
    NO_WATCH,
    WakeProblem,
    find_wake_problem,
)
from bridge.protocol.ids import RequestId
from bridge.protocol.question import asks_words
from bridge.protocol.request import Request, Uptime
from bridge.store.clock import uptime
from bridge.store.host_process import Liveness, liveness
from bridge.store.queries import waiting_in_order, why_unreadable
from bridge.store.sessions import Session
from bridge.store.state import State
from bridge.store.switch import Off, switched_off

# A session that is woken answers within a second or two; the model takes an offer
# within a turn.
_SOON_MS = 10_000
_TURN_MS = 60_000
_MAX_READ = 500
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits, what is held, and who could take it. Times are milliseconds."""

    project: str
    waiting: tuple[Request, ...]
    held: tuple[Request, ...]
    live: tuple[Session, ...]
    off: Off
    settings: Settings
    now_ms: int
    now: Uptime
    unheard: Mapping[str, WakeProblem | None] = field(default_factory=dict)


def stuck(subject: Subject) -> Iterator[Finding]:
    """Requests that make no progress, grouped by reason."""
    store = subject.store()
    if store is None or not store.place.state.is_dir():
        return
    with store.state() as state:
        # After a kill, requests may lie here that are answered already.
        looked = [
            state.find_waiting(name)
            for name in islice(waiting_in_order(state), _MAX_READ)
            if not state["responses"].has(f"{name}.json")
        ]
        unread = sorted(state.unread.items())
        newer = [name for name, why in unread if why == "newer"]
        broken = [name for name, why in unread if why != "newer"]
        yield from _unreadable(
            state, newer, "waiting for a newer hostbridge", "upgrade this one"
        )
        yield from _unreadable(
            state,
            broken,
            "waiting, and nobody can read it",
            "leave the file: the next hook that looks puts it aside; or correct it",
        )
    live = tuple(subject.live_sessions())
    queue = Queue(
        project=str(store.place.owner),
        waiting=tuple(request for request in looked if request),
        held=tuple(store.claimed()),
        live=live,
        off=switched_off(store),
        settings=subject.settings,
        now_ms=store.now_ms(),
        now=uptime(store.clock),
        unheard={s.session_id: find_wake_problem(store, s) for s in live},
    )
    yield from judge(queue)


def _unreadable(
    state: State, names: list[str], found: str, cure: str
) -> Iterator[Finding]:
    """One finding for the files that cannot be read, with the reason of the first."""
    if names:
        why = why_unreadable(state, RequestId(names[0])) or "it is there no more"
        yield warning(_named(found, names), why, cure)


def judge(queue: Queue) -> Iterator[Finding]:
    """One finding for each reason, with the requests it holds for."""
    grouped: dict[Finding, list[str]] = defaultdict(list)
    for request in queue.waiting:
        grouped[why_waiting(request, queue)].append(request.request_id)
    running = 0
    for request in queue.held:
        if why := why_held(request, queue):
            grouped[why].append(request.request_id)
        else:
            running += 1
    for why, ids in grouped.items():
        yield replace(why, found=_named(why.found, ids))
    if not grouped:
        yield ok(f"none waits; {running} running")


def _named(what: str, ids: list[str]) -> str:
    named = ", ".join(ids[:_NAMED]) + (", …" if ids[_NAMED:] else "")
    return f"{len(ids)} {what}: {named}"


OVERDUE = warning(
    "overdue",
    "the deadline has passed; nobody waits for it, and no session has looked since",
    "end what is overdue: hostbridge prune",
)


def why_waiting(request: Request, queue: Queue) -> Finding:
    """The first reason that keeps a request from being taken."""
    if queue.now_ms >= request.deadline_ms:
        return OVERDUE
    if request.asks is not None:
        return warning(
            "waiting for a reply",
            f"its agent asks: {asks_words(request.asks)}",
            f"hostbridge reply {request.request_id}",
        )
    if request.is_paused(queue.now_ms):
        return ok("waiting for the time of its next try")
    if queue.off.is_everything:
        return _no_host(OFF)
    if request.route == "host":
        return _why_no_session(request, queue)
    if _is_new(request, queue):
        return ok("asked just now")
    return warning(
        "waiting for `hostbridge serve`",
        "submitted for the route claude, local or endpoint, which no session takes",
        "hostbridge serve",
    )


def _why_no_session(request: Request, queue: Queue) -> Finding:
    able = [
        session
        for session in queue.live
        if session.may_take(request) and session.session_id not in queue.off
    ]
    if not able:
        is_off = queue.settings.off and not queue.live
        why_none = why_no_host(request, queue.live, queue.project)
        return _no_host(OFF_HERE if is_off else why_none)
    if limit := held_back(request, able, queue.held, queue.now):
        if limit.limit == "fan_out":
            return warning("waiting for your yes", limit.why, limit.cure)
        if limit.limit == "slots":
            return ok(f"waiting for a free slot ({limit.why}; more now: {limit.cure})")
        found = f"waiting, and the sessions have used up a budget ({limit.limit})"
        return warning(found, limit.why, limit.cure)
    if _is_new(request, queue):
        return ok("asked just now")
    deaf = [why for s in able if (why := queue.unheard.get(s.session_id))]
    if len(deaf) < len(able):
        return problem(
            "waiting, though a session is open that should have taken it",
            "nothing woke it, or its hooks took nothing: they fail, or look elsewhere",
            "type anything into the session; see `hook errors`, `hooks run` and "
            "`place`; hostbridge doctor --live",
        )
    why = deaf[0]
    found = f"waiting, and the open session {why.what}"
    if why is JUST_STARTED:
        return ok(found)
    return (warning if why is NO_WATCH else problem)(found, why.cause, why.cure)


def _no_host(reason: NoHostReason) -> Finding:
    report = warning if reason.is_chosen else problem
    return report("waiting, and no session can take it", reason.why, reason.ways[0])


def why_held(request: Request, queue: Queue) -> Finding | None:
    """What is wrong with a claim; None if an agent works, or soon will."""
    claim = request.claim
    if queue.now_ms >= request.deadline_ms:
        return OVERDUE
    taken_back = "nothing to do: the next hook or waiter takes the request back"
    if claim and claim.route != "host":
        is_gone = liveness(claim.host) is Liveness.GONE
        found = "held by a process that served it and is gone"
        return warning(found, "it was killed", taken_back) if is_gone else None
    if claim is None or all(session.host != claim.host for session in queue.live):
        found = "held by a session that is gone"
        return warning(found, "its process ended unexpectedly", taken_back)
    first = claim.offers[0] if claim.offers else claim.at
    if claim.launched_at is None and not 0 <= queue.now_ms - first <= _TURN_MS:
        return warning(
            "offered, but no agent was started",
            "the model has not made the call it was asked to make, or a dialog is open",
            "look at the session; the offer is repeated, and given back after the last "
            "time",
        )
    return None


def _is_new(request: Request, queue: Queue) -> bool:
    return queue.now_ms - request.asked_ms < _SOON_MS
