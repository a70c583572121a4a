"""Ask for the change of a project, or its files: a process of its own reads them."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from bridge.change.change import Change, change_of
from bridge.change.scope import Scope
from bridge.config import git_environment
from bridge.errors import InvalidRequest, reason_of
from bridge.process import run
from bridge.process.ending import how_it_ended

READ_S = 10.0
FILES_S = 60.0
MAX_CHARS = 60_000
# The reader's share of the time: it prints what it knows before we stop waiting.
_READER_SHARE = 0.8
# Each may become six characters of JSON.
_MOST_CHARS = 1_000_000
_MAX_BYTES = 64 * 1024 * 1024
_READER = str(Path(__file__).with_name("reader.py"))


def read_change(
    project: Path,
    scope: Scope | None = None,
    *,
    timeout_s: float = READ_S,
    max_chars: int = MAX_CHARS,
    should_stop: Callable[[], bool] = lambda: False,
) -> Change:
    """The change of the project at a real path; no file in it makes this fail.

    By default it is what is not committed. What cannot be read is a note, and then the
    change is not whole, as those who judge it must know. The diff has at most
    `max_chars` characters, and that of each file a third of them.

    Raises:
        InvalidRequest: `scope` names what is not there, or is not clear.
        Stopped: `should_stop`, which is asked several times a second, said so.
    """
    scope = scope or Scope()
    asked = {"scope": asdict(scope), "max_chars": min(max_chars, _MOST_CHARS)}
    read = _read(project, asked, timeout_s, should_stop)
    if "refused" in read:
        raise InvalidRequest(read["refused"], ways=read["ways"])
    if "error" in read:
        why = f"The change could not be read: {read['error']}"
        return Change("", (why,), is_whole=False, scope=scope)
    return change_of(read)


class KnownFiles(NamedTuple):
    """The files of a project, by their paths.

    Attributes:
        known: those in the index.
        new: those that git neither knows nor ignores; a folder that was not looked into
            has a slash at its end.
    """

    known: frozenset[str]
    new: frozenset[str]


def read_files(
    project: Path, *, paths: Sequence[str] = (), timeout_s: float = FILES_S
) -> KnownFiles | None:
    """What git has of the files of a project; None without a repository.

    New files are looked for below `paths` alone, if any are given.

    Raises:
        InvalidRequest: there is a repository, and it cannot be read.
    """
    read = _read(project, {"paths": list(paths)}, timeout_s, lambda: False)
    if "error" in read:
        raise InvalidRequest(f"the index of {project} cannot be read: {read['error']}")
    if read["known"] is None:
        return None
    return KnownFiles(*(frozenset(read[name]) for name in KnownFiles._fields))


def read_identity(project: Path) -> tuple[str | None, str | None]:
    """The last commit of a project, and the first; None for what is not there.

    Raises:
        InvalidRequest: the repository cannot be read.
    """
    read = _read(project, {"identity": True}, FILES_S, lambda: False)
    if "error" in read:
        why = read["error"]
        raise InvalidRequest(f"the first commit of {project} cannot be read: {why}")
    return read.get("head"), read.get("root")


def _read(
    project: Path,
    asked: dict[str, Any],
    timeout_s: float,
    should_stop: Callable[[], bool],
) -> dict[str, Any]:
    """What the reader says of a project; `error` if it says nothing in time."""
    now_s = time.monotonic()
    until_s = now_s + timeout_s * _READER_SHARE
    output = run.WholeOutput(_MAX_BYTES)
    try:
        ended = run.run(
            # Without the project's modules, and without writing bytecode.
            [sys.executable, "-EPB", _READER, str(project), str(until_s)],
            output,
            stdin=json.dumps(asked).encode("ascii"),
            env=git_environment(),
            folder=Path("/"),
            deadline_s=now_s + timeout_s,
            should_stop=should_stop,
            grace_s=0.2,
        )
    except OSError as exc:
        return {"error": f"its reader cannot be started: {reason_of(exc)}"}
    if ended.how == "stopped":
        raise run.Stopped
    late = {"error": f"it took more than {timeout_s:g} s"}
    try:
        read = late if ended.how == "deadline" else json.loads(bytes(output.data))
    except ValueError:
        last = ended.stderr.strip().rpartition("\n")[2]
        last = last or how_it_ended(ended.exit_code)
        read = {"error": last[:300]}
    return late if "late" in read else read
