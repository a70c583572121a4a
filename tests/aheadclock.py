"""A clock that a test puts forward: a deadline passes when something has happened."""

from __future__ import annotations

import time

from bridge.store.clock import SystemClock


class AheadClock(SystemClock):
    """The clock of this machine, `ahead_s` seconds later; both ways to ask for it."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def monotonic(self) -> float:
        """As `time.monotonic`: the clock stands for the module `time` somewhere."""
        return time.monotonic() + self.ahead_s

    def monotonic_s(self) -> float:
        return self.monotonic()
