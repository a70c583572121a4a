"""What hooks, and what they start, log for people: `hostbridge doctor` shows it."""

import os
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from bridge.config import Settings
from bridge.errors import BridgeError, StateVanished
from bridge.policy.tool_classes import DECIDED_ONCE
from bridge.store.directory import Folder
from bridge.store.journal import append_line
from bridge.store.location import Place, open_state
from bridge.store.lock import LockBusy

MAX_BYTES = 1024 * 1024
ERRORS = "hook-errors.log"


def log_failure(event_name: str) -> None:
    """Log the exception that is being handled; never raises."""
    try:
        if not _is_fault(sys.exception(), event_name):
            return
        import traceback

        with _home() as folder:
            append(folder, ERRORS, f"{event_name}\n{traceback.format_exc()}")
    except Exception:  # noqa: BLE001, S110 - there is nowhere left to complain
        pass


def log_text(text: str) -> None:
    """Log what `hostbridge doctor` should show; never raises."""
    with suppress(BridgeError, OSError), _home() as folder:
        append(folder, ERRORS, f"{text}\n")


def log_settings(files: Iterable[Path], problems: list[str]) -> None:
    """Log what is wrong with the files of settings, once for each change of them."""
    with suppress(BridgeError, OSError), _home() as folder:
        facts = folder.facts(ERRORS)
        changed = [os.lstat(file).st_ctime for file in files if os.path.lexists(file)]
        if facts is None or facts.st_mtime < max(changed, default=0.0):
            listed = "\n".join(problems)
            append(folder, ERRORS, f"settings, read as if not there\n{listed}\n")


def _home() -> Folder:
    home = Settings.from_environment().home
    # Another user's folder is refused: that user could read the paths.
    return open_state(Place(home, home, home, "our own folder"), make=False)


def _is_fault(error: BaseException | None, event_name: str) -> bool:
    """Whether there is anything to fix.

    If the lock is busy, the next event does the work, unless there is none. If somebody
    removes the state directory meanwhile, there is nothing left to do.
    """
    if isinstance(error, LockBusy):
        return event_name in DECIDED_ONCE
    return not isinstance(error, StateVanished)


def append(folder: Folder, name: str, text: str) -> None:
    """Add a line, with the time, to a log that is kept within bounds."""
    entry = f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {text}".encode("utf-8", "replace")
    append_line(folder, name, entry, max_bytes=MAX_BYTES, older=f"{name}.1")
