"""Offer waiting requests to the session at hand, within its limits.

An offer is a claim: nobody else takes what one session was asked to do. An offer that
the model ignores is repeated; after the last time it is given back, and the request
records that this session declined.
"""

from collections.abc import Callable
from contextlib import suppress

from bridge.bound.budgets import HeldBack, find_spent, limits_of
from bridge.errors import StateUnavailable
from bridge.host.budget_news import session_now
from bridge.host.context import HookContext
from bridge.host.continuing import joined, verdict
from bridge.host.request_tokens import instruction
from bridge.host.waiting import look_soon
from bridge.protocol.claim import Claim
from bridge.protocol.failure_codes import FailureCode, explain
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.protocol.response import Response, failed
from bridge.store import Verdict, sessions, subagent_runs, switch, wakeups
from bridge.store.clock import uptime
from bridge.store.live_runs import some_live
from bridge.store.sessions import Session
from bridge.store.switch import eligible
from bridge.store.tool_calls import callers

# An offer just made needs the model's next move, not a second offer.
REPEAT_AFTER_MS = 10_000
# More at once would not fit into one instruction, whatever the slots.
MAX_NAMED = 32


def offer(hook: HookContext, *, repeat_at_once: bool = False) -> str | None:
    """Claim what this session can take; returns the text for the model, if any.

    `repeat_at_once` repeats an ignored offer however young it is.
    """
    store = hook.store
    if switch.is_off(store, hook.session.session_id):
        withdraw(hook)
        return None
    sessions.mark_looked(store, hook.session.session_id)
    # Housekeeping: callers are told of it.
    with suppress(StateUnavailable):
        sessions.note_limits(store, hook.session, limits_of(hook.settings))
    ignored: list[Request] = []
    before: list[tuple[Request, Claim]] = []
    fresh: list[Request] = []
    try:
        ignored = joined(hook, _repeat(hook, at_once=repeat_at_once))
        before = open_offers(hook)
        fresh = joined(
            hook,
            store.claim(
                hook.claimant,
                min(hook.settings.slots, MAX_NAMED),
                judge_for(hook),
                on_cut=lambda: look_soon(hook),
            ),
        )
    except StateUnavailable:
        sessions.look_again(store, hook.session.session_id)
        # A repeated offer is already counted: the model must see it.
        if not ignored:
            raise
    # Housekeeping: the offer stands without it.
    with suppress(StateUnavailable):
        sessions.mark_offer(
            hook.store, hook.session.session_id, is_open=bool(before or fresh)
        )
    offered = [*ignored, *fresh][:MAX_NAMED]
    made = _instruction(offered) if offered else ""
    questions = _questions(hook, at_once=repeat_at_once)
    return "\n\n".join(filter(None, [made, questions])) or None


def _instruction(offered: list[Request]) -> str:
    asked_again = {
        request.request_id: claim.continued.agent_id
        for request in offered
        if (claim := request.claim) is not None and claim.continued is not None
    }
    return instruction([request.request_id for request in offered], asked_again)


def _questions(hook: HookContext, *, at_once: bool) -> str:
    """The checkpoints of flows that this session is to ask its person."""
    if not some_live(hook.store.place):
        return ""
    from bridge.host.checkpoints import offered

    return offered(hook, at_once=at_once)


def judge_for(hook: HookContext) -> Callable[[Request], Verdict]:
    """What decides, for one claim, whether this session may take a waiting request.

    What it has claimed and not launched counts against its budgets.
    """
    session: Session | None = None
    limit: HeldBack | None = None
    promised = 0

    def spent() -> HeldBack | None:
        """Count one more agent; or else the budget that is used up."""
        nonlocal session, limit, promised
        if session is None:
            # As it is once the claim has the lock: another of its hooks may have
            # launched an agent.
            promised = len(_unlaunched(hook))
            session = session_now(hook)
        if limit is None:
            limit = find_spent(session, uptime(hook.store.clock), promised)
        promised += limit is None
        return limit

    def judge(request: Request) -> Verdict:
        fate = _for_here(hook, request)
        if fate != "take":
            return fate
        now_ms = hook.now_ms()
        if request.depth > hook.settings.max_depth:
            message = (
                f"{request.depth} agents stand above this request; "
                f"{hook.settings.max_depth} is the limit (max_depth)"
            )
            return failed(request, "depth", message, now_ms=now_ms)
        held_by = spent()
        if held_by is None:
            return "take"
        # A person may raise the budget of a session.
        is_for_good = not held_by.most
        is_in_time = now_ms + held_by.wait_s * 1000 < request.deadline_ms
        if is_in_time or (held_by.is_of_session and not is_for_good):
            return "leave"
        # Somebody else will take it, or the caller falls back.
        if request.falls_back_to is not None or _others(hook, request):
            return "leave"
        late = "" if is_for_good else ", too late for this request"
        message = f"{held_by.why}{late}; more now: {held_by.cure}"
        return failed(request, "budget", message, now_ms=now_ms)

    return judge


def _for_here(hook: HookContext, request: Request) -> Verdict:
    """Whether a request is for this session, whatever its limits."""
    if request.held is not None or not hook.session.may_take(request):
        return "pass"
    if request.context_from is not None:
        from bridge.bound import forks

        return forks.verdict(
            hook.store, hook.settings, hook.session.session_id, request
        )
    is_for_one = request.continues is not None or request.exchanges
    return verdict(hook, request) if is_for_one else "take"


def _repeat(hook: HookContext, *, at_once: bool) -> list[Request]:
    """Offers that the model has ignored: repeat them, or give them back.

    Those that cannot be written down now are left for the next look.
    """
    from bridge.host.denied_agents import why_no_agents

    now_ms = hook.now_ms()
    again: list[Request] = []
    for request, claim in open_offers(hook)[:MAX_NAMED]:
        last = claim.offers[-1] if claim.offers else claim.at
        # An offer from the future, made before the clock was set back, is not fresh.
        if not at_once and 0 <= now_ms - last < REPEAT_AFTER_MS:
            continue
        try:
            if why := why_no_agents(hook):
                decline(hook, request, "agent_denied", explain("agent_denied", why))
                continue
            if len(claim.offers) >= hook.settings.max_offers:
                decline(hook, request)
                continue
            changed = hook.store.change_claim(
                RequestId(request.request_id),
                hook.session.host,
                lambda c: c.with_(offers=(*c.offers, now_ms)),
                event="offered again",
            )
        except StateUnavailable:
            break
        if changed is not None:
            again.append(changed)
    return again


def open_offers(hook: HookContext) -> list[tuple[Request, Claim]]:
    """What this session was asked to launch and has not launched.

    Not what one of its agents was asked to launch: that is no work of the main thread.
    """
    found = _unlaunched(hook)
    if not found:
        return found
    asked = callers(hook.store, hook.session.session_id)
    return [each for each in found if not asked.get(each[0].request_id)]


def _unlaunched(hook: HookContext) -> list[tuple[Request, Claim]]:
    """What this session has claimed, and nobody in it has launched."""
    return [
        (request, claim)
        for request in hook.store.claimed()
        if (claim := request.claim) is not None
        and claim.host == hook.session.host
        and claim.launched_at is None
    ]


def note_taken_up(hook: HookContext) -> None:
    """The model has made a call that it was asked for; note whether others are open."""
    sessions.mark_offer(
        hook.store, hook.session.session_id, is_open=bool(open_offers(hook))
    )


def mark_open(hook: HookContext) -> None:
    """An offer was made outside `offer`: the shell hook must look at it again."""
    with suppress(StateUnavailable):
        sessions.mark_offer(hook.store, hook.session.session_id, is_open=True)


def decline(
    hook: HookContext,
    request: Request,
    code: FailureCode = "declined",
    detail: str = "",
) -> None:
    """Give back what the model did not launch; fail it if nobody else may take it.

    Where the model itself failed, for a reason that may pass, it is offered again.
    """
    ids = sorted(hook.session.ids)

    def declined(held: Request) -> Request:
        return held.with_(declined_by=(*held.declined_by, *ids))

    others = _others(hook, declined(request))
    if others:
        hook.store.give_back(RequestId(request.request_id), hook.session.host, declined)
        wakeups.wake(hook.store, others)
        return
    times = len(request.claim.offers) if request.claim else 0
    message = detail or (
        f"the model of session {hook.session.session_id} ignored {times} offers; see "
        "`hostbridge doctor --live`"
    )
    response = failed(request, code, message, now_ms=hook.now_ms())
    end_try(hook, response, lambda c: c.host == hook.session.host, source=code)


def end_try(
    hook: HookContext,
    response: Response,
    is_mine: Callable[[Claim], bool],
    *,
    source: str,
) -> None:
    """End a try by its failure, and the request with it unless the reason may pass.

    A call of this session that was turned into a request has no other try: nobody but
    its caller can start the agent, and the caller is told.
    """
    if response.request_id in callers(hook.store, hook.session.session_id):
        hook.store.publish(response, source=source)
        return
    again = hook.store.end_try(response, is_mine=is_mine, source=source)
    if again is not None:
        hook.due.append(again.due_ms or 0)


def withdraw(hook: HookContext) -> None:
    """Switched off: what the model has not launched waits for another session."""
    withdrawn = [RequestId(request.request_id) for request, _ in open_offers(hook)]
    for request_id in withdrawn:
        hook.store.give_back(request_id, hook.session.host)
    if withdrawn:
        wake_others(hook)


def wake_others(hook: HookContext) -> None:
    """What this session gave back waits again: wake those that may take it."""
    wakeups.wake(hook.store, _other_sessions(hook))


def _others(hook: HookContext, request: Request) -> list[Session]:
    """The other live sessions that may take the request."""
    return eligible(hook.store, _other_sessions(hook), request)


def _other_sessions(hook: HookContext) -> list[Session]:
    live = sessions.live_sessions(hook.store)
    return [other for other in live if other.host != hook.session.host]


def agents_run(hook: HookContext) -> bool:
    """Whether subagents of ours run in this session."""
    return any(
        run.host == hook.session.host and run.state != "ended" and not run.nested
        for run in subagent_runs.all_runs(hook.store)
    )
