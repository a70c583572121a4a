"""Ask for the change of a project: a process of its own reads it, bounded."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import orjson

from bridge.process import run

READ_S = 10.0
# The reader's share of the time: it prints what it knows before we stop waiting.
_READER_SHARE = 0.8
_MAX_BYTES = 4 * 1024 * 1024
_READER = str(Path(__file__).with_name("reader.py"))


@dataclass(frozen=True, slots=True)
class Change:
    """What is not committed: staged, unstaged and new files, against HEAD.

    Attributes:
        diff: a unified diff; empty if nothing changed, or nothing could be read.
        notes: what is not in it, and why, in sentences.
    """

    diff: str
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """For a prompt: the notes first, since a long diff would hide them."""
        return "\n".join([*self.notes, self.diff]) if self.notes else self.diff


def read_change(project: Path, *, timeout_s: float = READ_S) -> Change:
    """The change of the project at a real path; no file in it makes this fail.

    What cannot be read is a note: whoever judges the change must know.
    """
    now_s = time.monotonic()
    until_s = now_s + timeout_s * _READER_SHARE
    output = run.WholeOutput(_MAX_BYTES)
    ended = run.run(
        # Without the project's modules, and without writing bytecode.
        [sys.executable, "-EPB", _READER, str(project), str(until_s)],
        output,
        stdin=b"",
        env={},
        folder=Path("/"),
        deadline_s=now_s + timeout_s,
        should_stop=lambda: False,
        grace_s=0.2,
    )
    late = {"error": f"it took more than {timeout_s:g} s"}
    try:
        read = late if ended.how == "deadline" else orjson.loads(output.data)
    except orjson.JSONDecodeError:
        last = ended.stderr.strip().rpartition("\n")[2] or f"exit {ended.exit_code}"
        read = {"error": last[:300]}
    read = late if "late" in read else read
    if "error" in read:
        return Change("", (f"The change could not be read: {read['error']}",))
    return Change(read["diff"], tuple(read["notes"]))
