"""Which runs of flows have not ended: an empty file `live/<run>.run` for each.

Whoever may have ended a request looks here whether any run waits for it: without a run
it costs one look into an empty folder. A request of a run is named `<run>-…`; while the
run lives, its requests are kept.

Beside the folders of runs, `runs/<request id>.jsonl` says what happened while a request
was served, one line an event. A log that is full becomes `<request id>.1.jsonl`. Both
go with their request.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.errors import StateRefused
from bridge.protocol import plain_json
from bridge.protocol.record import json_lines
from bridge.store.journal import append_line, read_logs

if TYPE_CHECKING:
    from typing import Any

    from bridge.store.location import Place
    from bridge.store.state import State

FOLDER = "live"
_MARK = ".run"
RUNS = "runs"
FILE = "run.json"
LOCK = "run.lock"
# Of the logs of requests, oldest first.
LOG_SUFFIXES = (".1.jsonl", ".jsonl")
MAX_LOG_BYTES = 4 * 1024 * 1024
_TOKENS = "tokens.log"
_MANY = 2**30
_DIGITS = 15


def mark(state: State, run: str) -> None:
    """Note that a run lives; durable."""
    state[FOLDER].touch(f"{run}{_MARK}")
    state[FOLDER].sync()


def unmark(state: State, run: str) -> None:
    """Note that it has ended. A folder of that name is not ours to remove."""
    with suppress(IsADirectoryError):
        state[FOLDER].remove(f"{run}{_MARK}")


def some_live(place: Place) -> bool:
    """Whether any run lives: one look, without opening the state."""
    try:
        return bool(os.listdir(f"{place.state}/{FOLDER}"))
    except OSError:
        return False


def is_marked(state: State, run: str) -> bool:
    """Whether a run lives."""
    return state[FOLDER].has(f"{run}{_MARK}")


def live_runs(state: State) -> list[str]:
    """The runs that live, the oldest first."""
    return sorted(state[FOLDER].names(_MARK))


def kept_runs(state: State) -> set[str]:
    """The runs that live, and those that they have called, whose answers they use."""
    found = {*live_runs(state)}
    for run in [*found]:
        # A run that cannot be read cannot go on, so it needs no answers.
        with (
            suppress(StateRefused, OSError, ValueError, TypeError, LookupError),
            state[RUNS].folder(run, make=False) as folder,
        ):
            found.update(plain_json.loads(folder.read(FILE) or b"")["called"])
    return found


def run_of(place: Place, request_id: str) -> str | None:
    """The run that lives and has asked this; None if none has."""
    run = request_id.partition("-")[0]
    path = f"{place.state}/{FOLDER}/{run}{_MARK}"
    return run if os.path.lexists(path) else None


def note_tokens(state: State, run: str, call: str, tokens: int) -> None:
    """Note what an agent of a run took; of a call told twice the larger counts."""
    with state[RUNS].folder(run, make=False) as folder:
        line = f"{call} {tokens}\n".encode()
        append_line(folder, _TOKENS, line, max_bytes=_MANY, older=_TOKENS)


def tokens_of(state: State, run: str) -> int:
    """How many tokens the agents of a run took, as far as somebody told."""
    with state[RUNS].folder(run, make=False) as folder:
        lines = read_logs(folder, _TOKENS).decode(errors="replace")
    told: dict[str, int] = {}
    for line in lines.splitlines():
        call, _, number = line.partition(" ")
        if number.isdecimal():
            told[call] = max(told.get(call, 0), int(number[:_DIGITS]))
    return sum(told.values())


def runs_on_record(state: State) -> dict[str, float]:
    """The time of the last change of each run, in seconds since 1970.

    The logs of requests, which lie beside them, are no runs.
    """
    found = {}
    for entry in state[RUNS].entries():
        with suppress(FileNotFoundError):
            if entry.is_dir(follow_symlinks=False):
                found[entry.name] = entry.stat(follow_symlinks=False).st_ctime
    return found


def remove(state: State, run: str) -> None:
    """Remove the folder of a run; no link in it is followed."""
    import shutil  # hooks import this module

    shutil.rmtree(run, dir_fd=state[RUNS].fd)


def append_log(state: State, request_id: str, event: bytes) -> None:
    """Add one event, encoded, to the log of a request."""
    older, name = (f"{request_id}{suffix}" for suffix in LOG_SUFFIXES)
    line = event + b"\n"
    append_line(state[RUNS], name, line, max_bytes=MAX_LOG_BYTES, older=older)


def last_of_log(state: State, request_id: str, count: int) -> list[dict[str, Any]]:
    """The last events of a log, oldest first; a broken line is skipped."""
    log = read_logs(state[RUNS], f"{request_id}{LOG_SUFFIXES[-1]}")
    return json_lines(b"\n".join(log.splitlines()[-count:]))


def read_log(state: State, request_id: str) -> list[dict[str, Any]]:
    """The events of a log, oldest first; a broken line is skipped."""
    names = [f"{request_id}{suffix}" for suffix in LOG_SUFFIXES]
    return json_lines(read_logs(state[RUNS], *names))
