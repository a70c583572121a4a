"""A clock that a test puts forward: a deadline passes when something has happened.

`AheadClock` is for this process, `module_ahead` for another.
"""

import sys
import time
from pathlib import Path

from bridge.store.clock import SystemClock

_AHEAD = """
import runpy, sys, time

file, module = sys.argv.pop(1), sys.argv.pop(1)

def ahead_s():
    try:
        with open(file) as found:
            return float(found.read())
    except (OSError, ValueError):
        return 0.0

def put_forward(clock, unit):
    return lambda: clock() + type(clock())(ahead_s() * unit)

for unit, names in ((1, ("monotonic", "time")), (10**9, ("monotonic_ns", "time_ns"))):
    for name in names:
        setattr(time, name, put_forward(getattr(time, name), unit))
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def module_ahead(module: str, file: Path) -> list[str]:
    """Runs a module as `python -m` does; when `file` is there, so many seconds pass."""
    return [sys.executable, "-c", _AHEAD, str(file), module]


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
