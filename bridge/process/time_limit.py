"""A limit on the time of a block of code, inside whatever limit there is already.

A hook that exceeds its own limit has lost everything; a check that exceeds this one
becomes a named failure. It also ends a loop that asks no clock, and a read from a pipe
that nobody writes to.
"""

# `signal` itself makes enums of its numbers.
import _signal as signal  # type: ignore[import-not-found]  # has no stubs
import time
from collections.abc import Iterator
from contextlib import contextmanager

_AGAIN_S = 0.1


class TooSlow(BaseException):
    """The block took too long; no `Exception`, so that no handler catches it."""


@contextmanager
def within(limit_s: float) -> Iterator[None]:
    """Limit the block to `limit_s` seconds, or half of what an outer limit leaves.

    Only in the main thread; elsewhere the block has no limit.

    Raises:
        TooSlow: it took longer.
    """
    is_open = True

    def ring(_signal: int, _frame: object) -> None:
        if is_open:
            raise TooSlow

    before, began = signal.getsignal(signal.SIGALRM), time.monotonic()
    try:
        # Changes nothing: only the main thread may.
        signal.signal(signal.SIGALRM, before)
    except ValueError:
        yield
        return
    left_s, every_s = signal.getitimer(signal.ITIMER_REAL)
    mine_s = max(0.001, min(limit_s, left_s / 2) if left_s else limit_s)
    try:
        # From here on an alarm of the outer limit ends this block.
        signal.signal(signal.SIGALRM, ring)
        # Repeatedly: an exception raised in a destructor is lost.
        signal.setitimer(signal.ITIMER_REAL, mine_s, _AGAIN_S)
        yield
    finally:
        is_open = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left_s:
            spent_s = time.monotonic() - began
            # As good as over; 0 would switch it off.
            left_s = max(1e-6, left_s - spent_s)
            signal.setitimer(signal.ITIMER_REAL, left_s, every_s)
