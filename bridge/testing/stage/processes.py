"""Ending what the stage started, and nothing else.

A client runs its tools in sessions of their own, out of reach of a signal to its
group, and they outlive a client that is killed. So the whole family is noted while it
can still be seen, each member with its start time: a process id may be somebody else's
by the time it is used.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Member:
    """One process, told from a later one with the same id by its start time."""

    pid: int
    started: str


def family(pid: int) -> list[Member]:
    """Return a process and its descendants; empty when it is gone."""
    seen = {stat.pid: stat for each in _PROC.glob("[0-9]*") if (stat := _stat(each))}
    wanted = [pid]
    for known in wanted:  # grows while it is walked
        wanted += [stat.pid for stat in seen.values() if stat.parent == known]
    return [
        Member(seen[each].pid, seen[each].started) for each in wanted if each in seen
    ]


def end(members: list[Member], *, grace_s: float = 0) -> None:
    """End processes: SIGTERM and `grace_s` seconds to obey it, then SIGKILL."""
    if grace_s > 0:
        _signal(members, signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while _alive(members) and time.monotonic() < deadline:
            time.sleep(0.02)
    _signal(members, signal.SIGKILL)
    while _alive(members):
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that nobody has waited for yet does not."""
    return _stat(_PROC / str(pid)) is not None


@dataclass(frozen=True, slots=True)
class _Stat:
    pid: int
    parent: int
    started: str


def _stat(folder: Path) -> _Stat | None:
    """Read /proc/PID/stat. Source: proc(5); the name may hold spaces and brackets."""
    try:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    state, parent, started = fields[0], int(fields[1]), fields[19]
    return None if state in "ZX" else _Stat(int(folder.name), parent, started)


def _alive(members: list[Member]) -> list[Member]:
    now = {each: _stat(_PROC / str(each.pid)) for each in members}
    return [each for each, stat in now.items() if stat and stat.started == each.started]


def _signal(members: list[Member], number: signal.Signals) -> None:
    for each in _alive(members):
        with contextlib.suppress(ProcessLookupError):
            os.kill(each.pid, number)
