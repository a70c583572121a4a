"""After a session has its answer: tidy up, then ring for what came meanwhile.

The client begins to watch the bell once it has read the answer of SessionStart or
CwdChanged. What rings before that is a file that it does not report, and nobody else
may be waiting. So somebody stays a few seconds and rings again, if anything waits.

Nothing depends on it: it may be killed at any point, and finds nothing to do where the
state directory is gone.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from bridge.errors import StateUnavailable
from bridge.host import unseen_ends
from bridge.host.sweep_and_wake import ring_all
from bridge.store import wakeups

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.host.context import HookContext

# The watch is there within a few milliseconds of the answer; on a busy machine later.
LOOKS_S = (1.0, 2.0, 4.0)
SWEEP_S = 1.0


def settle(hook: HookContext, *, pause: Callable[[float], None] = time.sleep) -> None:
    """What follows SessionStart: forget who is gone, give back what they held, ring."""
    try:
        unseen_ends.forget_gone(hook)
        changed = hook.store.sweep(everything=True, limit_s=SWEEP_S)
    except StateUnavailable:
        changed = 0
    if changed:
        ring_all(hook.store, lease_s=hook.settings.lease_s)
    ring_until_heard(hook, pause=pause)


def ring_until_heard(
    hook: HookContext, *, pause: Callable[[float], None] = time.sleep
) -> None:
    """Ring for what waits once the watch is there; again if nobody answers."""
    if hook.session.one_shot:
        return
    host = hook.session.host
    for number, wait_s in enumerate(LOOKS_S):
        pause(wait_s)
        if not _is_open(hook):
            return
        if number == 0:
            if not hook.store.has_waiting():
                return
            wakeups.wake(hook.store, [hook.session])
        elif wakeups.unanswered_s(hook.store, host) is None:
            return
        else:
            wakeups.wake(hook.store, [hook.session], again=True)


def _is_open(hook: HookContext) -> bool:
    """Whether the session is still on record; what was removed is not made again."""
    records = f"{hook.store.place.state}/sessions"
    return os.path.exists(f"{records}/{hook.session.session_id}.json")
