"""Time processes and calls, and take those that are compared in turns."""

from __future__ import annotations

import os
import random
import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# Input and output must fit into a pipe: nobody reads while the process runs.
_PIPE_BYTES = 60_000


@dataclass(slots=True)
class Series:
    """Measurements of one thing, in the caller's unit."""

    values: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.values)

    @property
    def spread(self) -> str:
        """The smallest and the largest, as text."""
        return f"{min(self.values):.4g}..{max(self.values):.4g}"


@dataclass(frozen=True, slots=True)
class Ran:
    """A process that has ended; `cpu_ms` is its time on processors."""

    ms: float
    exit_code: int
    stdout: bytes
    cpu_ms: float = 0


def run(command: Sequence[str], env: Mapping[str, str], stdin: bytes = b"") -> Ran:
    """Run a process to its end; timed from before its start until it is reaped."""
    to_read = _filled(stdin)
    out_read, out_write = os.pipe()
    moves = [(os.POSIX_SPAWN_DUP2, to_read, 0), (os.POSIX_SPAWN_DUP2, out_write, 1)]
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], list(command), env, file_actions=moves)
    _, status, used = os.wait4(pid, 0)
    ms = (time.perf_counter() - start) * 1000
    os.close(to_read)
    os.close(out_write)
    with open(out_read, "rb") as output:
        cpu_ms = (used.ru_utime + used.ru_stime) * 1000
        return Ran(ms, os.waitstatus_to_exitcode(status), output.read(), cpu_ms)


def _filled(stdin: bytes) -> int:
    """What a process reads as its input: a pipe, or a file if that is too small."""
    if len(stdin) > _PIPE_BYTES:
        file = os.memfd_create("stdin")
        with open(file, "wb", closefd=False) as copy:
            copy.write(stdin)
        os.lseek(file, 0, os.SEEK_SET)
        return file
    to_read, to_write = os.pipe()
    os.write(to_write, stdin)
    os.close(to_write)
    return to_read


def timed(
    name: str,
    act: Callable[[], object],
    clock: Callable[[], float] = time.perf_counter,
) -> Callable[[], dict[str, float]]:
    """A case in this process: what `act` takes by a clock, in milliseconds."""

    def measure() -> dict[str, float]:
        begun = clock()
        act()
        return {name: (clock() - begun) * 1000}

    return measure


def take_turns(
    cases: Sequence[Callable[[], Mapping[str, float]]], rounds: int
) -> dict[str, Series]:
    """Call each case once a round, in a random order, and collect its figures.

    A case returns figures by name. The first round is a warm-up and does not count.
    """
    series: dict[str, Series] = {}
    order = list(cases)
    for turn in range(-1, rounds):
        # What ran just before leaves the caches warm or cold: let that be random.
        random.Random(turn).shuffle(order)  # noqa: S311 - no secret
        for case in order:
            for name, value in case().items():
                found = series.setdefault(name, Series())
                if turn >= 0:
                    found.values.append(value)
    return series
