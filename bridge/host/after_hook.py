"""After a session has its answer: clean up, then wake it for what waits.

The client starts watching the wake-up file once it has read the answer to SessionStart
or CwdChanged. It does not report a file written before that, and nobody else may be
waiting. So a process stays for a few seconds and signals again, if anything waits.

Nothing depends on it: it may be killed at any point, and does nothing if the state
directory is gone.
"""

import time
from collections.abc import Callable

from bridge.errors import StateUnavailable
from bridge.host import offers, registration, waiting
from bridge.host.context import HookContext
from bridge.store import live_runs, sessions, subagent_runs, wakeups
from bridge.store.store import Store
from bridge.store.wakeups import wake_all

# The watch is there within a few milliseconds of the answer; on a busy machine later.
LOOKS_S = (1.0, 2.0, 4.0)
SWEEP_S = 1.0
# Below the limit of what is done after the answer (`hook.LATER_LIMIT_S`).
SOON_S = 18.0


def settle(hook: HookContext, *, pause: Callable[[float], None] = time.sleep) -> None:
    """After SessionStart: forget dead sessions, give back their requests, wake."""
    try:
        with hook.store.open(make=False) as store:
            registration.forget_gone(store)
            _hear_agents_before(hook, store)
            subagent_runs.forget_gone(store)
            changed = store.sweep(everything=True, limit_s=SWEEP_S)
            _go_on_with_flows(hook, store)
        if _is_open(hook):
            waiting.is_queue_empty(hook)
    except StateUnavailable:
        changed = 0
    if changed:
        wake_all(hook.store)
    wake_until_answered(hook, pause=pause)


def _hear_agents_before(hook: HookContext, store: Store) -> None:
    """What the agents of this session said last, if its process before was killed."""
    if subagent_runs.all_runs(store):
        from bridge.host.missed_ends import hear_finished

        hear_finished(hook._replace(store=store))


def _go_on_with_flows(hook: HookContext, store: Store) -> None:
    """What the session before has left unfinished."""
    if live_runs.some_live(store.place):
        from bridge.engine.advance import advance_all

        advance_all(store, hook.settings)


def wake_until_answered(
    hook: HookContext, *, pause: Callable[[float], None] = time.sleep
) -> None:
    """Signal waiting requests once the watch is there; again if nobody answers.

    A signal from before the watch is never reported, and hides those that follow it
    soon: it is made again, whatever it was for. Only who answers takes one away, since
    it may also be one that the watch is about to report.
    """
    if hook.session.one_shot:
        return
    for number, wait_s in enumerate(LOOKS_S):
        pause(wait_s)
        if not _is_open(hook):
            return
        if wakeups.ring_again(hook.store, hook.session.host):
            continue
        if number or not (hook.store.has_waiting() or _has_questions(hook)):
            return
        wakeups.wake(hook.store, [hook.session])


def wake_when_due(
    hook: HookContext, *, pause: Callable[[float], None] = time.sleep
) -> None:
    """Wake the sessions when a try or an offer may be made again, if that is soon.

    The program that asked may not wait for the answer, and the session may be idle. A
    longer pause is left to whoever looks next.
    """
    left_s = (min(hook.due) - hook.now_ms()) / 1000
    if left_s > SOON_S:
        return
    pause(max(0.0, left_s))
    if _is_open(hook):
        wake_all(hook.store)
        if offers.open_offers(hook):
            wakeups.wake(hook.store, [hook.session])


def _has_questions(hook: HookContext) -> bool:
    if not live_runs.some_live(hook.store.place):
        return False
    from bridge.host.checkpoints import wait_for

    return wait_for(hook)


def _is_open(hook: HookContext) -> bool:
    """Whether the session is still on record; a removed state is not made again."""
    store, session = hook.store, hook.session
    return store.exists() and bool(
        sessions.find_session(store, session.session_id, session.host)
    )
