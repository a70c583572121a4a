"""Clocks, passed in: wall clock for records, monotonic for waiting."""

import time
from typing import NamedTuple, Protocol, Self

from bridge.protocol.request import Uptime
from bridge.store.host_process import boot_id


class Clock(Protocol):
    """The time."""

    def now_us(self) -> int:
        """Microseconds since 1970, by the wall clock."""

    def monotonic_s(self) -> float:
        """Seconds on a clock that nobody sets."""


class SystemClock:
    """The clock of this machine."""

    def now_us(self) -> int:
        """Microseconds since 1970."""
        return time.time_ns() // 1000

    def monotonic_s(self) -> float:
        """Seconds since some moment in the past."""
        return time.monotonic()


class Moment(NamedTuple):
    """A time by both clocks, in milliseconds."""

    at_ms: int
    up_ms: int

    @classmethod
    def now(cls, clock: Clock) -> Self:
        """This moment."""
        return cls(clock.now_us() // 1000, int(clock.monotonic_s() * 1000))

    def earliest_ms(self, clock: Clock) -> int:
        """When it was, by the wall clock as it was then or is now: what is earlier."""
        now = self.now(clock)
        return min(self.at_ms, now.at_ms - (now.up_ms - self.up_ms))


def uptime(clock: Clock) -> Uptime:
    """Seconds since this machine was started."""
    return Uptime(boot=boot_id(), ms=max(0, int(clock.monotonic_s() * 1000)))
