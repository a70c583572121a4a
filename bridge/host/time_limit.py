"""A limit on one piece of a hook's work, inside the limit on the whole hook.

A schema may be such that no answer is checked in time. What runs into the hook's own
limit is lost; what runs into this one can be told by name.
"""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


_AGAIN_S = 0.1


class TooSlow(BaseException):
    """The block took too long; nothing that looks after errors in it may keep it."""


@contextmanager
def within(limit_s: float) -> Iterator[None]:
    """Give the block `limit_s` seconds, or half of what the hook still has.

    Only in the main thread, where a hook does all its work; elsewhere without limit.

    Raises:
        TooSlow: it took longer.
    """
    is_open = True

    def ring(_signal: int, _frame: object) -> None:
        if is_open:
            raise TooSlow

    try:
        before = signal.signal(signal.SIGALRM, ring)
    except ValueError:
        yield
        return
    began = time.monotonic()
    left_s, every_s = signal.getitimer(signal.ITIMER_REAL)
    mine_s = min(limit_s, left_s / 2) if left_s else limit_s
    # Again and again: what is raised in a destructor is lost.
    signal.setitimer(signal.ITIMER_REAL, mine_s, _AGAIN_S)
    try:
        yield
    finally:
        is_open = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left_s:
            spent_s = time.monotonic() - began
            left_s = max(0.01, left_s - spent_s)
            signal.setitimer(signal.ITIMER_REAL, left_s, every_s)
