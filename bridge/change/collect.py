"""Ask for the change of a project: a process of its own reads it, bounded."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import orjson

from bridge.process import run

READ_S = 10.0
_USED = 0.8
_MAX_BYTES = 4 * 1024 * 1024
_READER = str(Path(__file__).with_name("reader.py"))


@dataclass(frozen=True, slots=True)
class Change:
    """What is not committed: staged, unstaged and new files, against HEAD.

    Attributes:
        diff: a unified diff; empty where nothing changed, or nothing could be read.
        notes: what is not in it, and why, in sentences.
    """

    diff: str
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """For a prompt: the notes first, which a long diff would hide."""
        return "\n".join([*self.notes, self.diff]) if self.notes else self.diff


def read_change(project: Path, *, timeout_s: float = READ_S) -> Change:
    """The change of a project, by its real path. It never raises for what lies there.

    What cannot be read is a note: whoever judges the change must know.
    """
    now_s = time.monotonic()
    # A moment before we stop waiting: what there is by then is told.
    until_s = now_s + timeout_s * _USED
    ended = run.run(
        # Not the project's modules, and no bytecode: nothing is written.
        [sys.executable, "-EPB", _READER, str(project), str(until_s)],
        stdin=b"",
        env={},
        folder=Path("/"),
        deadline_s=now_s + timeout_s,
        should_stop=lambda: False,
        max_stdout=_MAX_BYTES,
        grace_s=0.2,
    )
    if ended.how == "deadline":
        return _unreadable(f"it took more than {timeout_s:g} s")
    try:
        told = orjson.loads(ended.stdout)
    except orjson.JSONDecodeError:
        last = ended.stderr.strip().rpartition("\n")[2] or f"exit {ended.exit_code}"
        return _unreadable(last[:300])
    if "late" in told:
        return _unreadable(f"it took more than {timeout_s:g} s")
    if "error" in told:
        return _unreadable(told["error"])
    return Change(told["diff"], tuple(told["notes"]))


def _unreadable(why: str) -> Change:
    return Change("", (f"The change could not be read: {why}",))
