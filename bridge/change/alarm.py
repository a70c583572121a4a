"""An alarm that ends what takes too long, wherever that is.

In a loop that asks no clock, or waiting for a pipe that nobody writes to. For the main
thread of a process of our own.
"""

from __future__ import annotations

import signal
import time
from typing import NoReturn


class TimeUp(BaseException):
    """The alarm rang; no handler of a library sees it."""


def ring_at(moment_s: float) -> None:
    """Raise `TimeUp` at a moment (monotonic); it takes the place of the one before."""
    signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, max(0.001, moment_s - time.monotonic()))


def silence() -> None:
    """Let it ring no more."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def _ring(*_: object) -> NoReturn:
    raise TimeUp
