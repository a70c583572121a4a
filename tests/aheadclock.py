"""A clock that a test puts forward: a deadline passes when something has happened."""

from __future__ import annotations

import time

from bridge.store.clock import SystemClock


class AheadClock(SystemClock):
    """The clock of this machine, `ahead_s` seconds later; both ways to ask for it.

    `wall_s` is by how much somebody has set the wall clock besides.
    """

    def __init__(self) -> None:
        self.ahead_s = self.wall_s = 0.0

    def now_us(self) -> int:
        return super().now_us() + int((self.ahead_s + self.wall_s) * 1_000_000)

    def monotonic(self) -> float:
        """As `time.monotonic`: the clock stands for the module `time` somewhere."""
        return time.monotonic() + self.ahead_s

    def monotonic_s(self) -> float:
        return self.monotonic()
