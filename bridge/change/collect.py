"""Ask for the change of a project: a process of its own reads it, bounded."""

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from bridge.change.change import Change, change_of
from bridge.change.scope import Scope
from bridge.errors import InvalidRequest
from bridge.process import run

READ_S = 10.0
MAX_CHARS = 60_000
# The reader's share of the time: it prints what it knows before we stop waiting.
_READER_SHARE = 0.8
# Each may become six characters of JSON.
_MOST_CHARS = 1_000_000
_MAX_BYTES = 16 * 1024 * 1024
_READER = str(Path(__file__).with_name("reader.py"))


def read_change(
    project: Path,
    scope: Scope | None = None,
    *,
    timeout_s: float = READ_S,
    max_chars: int = MAX_CHARS,
) -> Change:
    """The change of the project at a real path; no file in it makes this fail.

    By default it is what is not committed. What cannot be read is a note, and then the
    change is not whole: whoever judges it must know. The diff has at most `max_chars`
    characters, and that of each file a third of them.

    Raises:
        InvalidRequest: `scope` names what is not there, or is not clear.
    """
    scope = scope or Scope()
    now_s = time.monotonic()
    until_s = now_s + timeout_s * _READER_SHARE
    output = run.WholeOutput(_MAX_BYTES)
    asked = {"scope": asdict(scope), "max_chars": min(max_chars, _MOST_CHARS)}
    ended = run.run(
        # Without the project's modules, and without writing bytecode.
        [sys.executable, "-EPB", _READER, str(project), str(until_s)],
        output,
        stdin=json.dumps(asked).encode("ascii"),
        env={},
        folder=Path("/"),
        deadline_s=now_s + timeout_s,
        should_stop=lambda: False,
        grace_s=0.2,
    )
    late = {"error": f"it took more than {timeout_s:g} s"}
    try:
        read = late if ended.how == "deadline" else json.loads(bytes(output.data))
    except ValueError:
        last = ended.stderr.strip().rpartition("\n")[2] or f"exit {ended.exit_code}"
        read = {"error": last[:300]}
    read = late if "late" in read else read
    if "refused" in read:
        raise InvalidRequest(read["refused"], ways=read["ways"])
    if "error" in read:
        why = f"The change could not be read: {read['error']}"
        return Change("", (why,), is_whole=False, scope=scope)
    return change_of(read)
