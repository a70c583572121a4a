"""What hooks log for people: failures for `hostbridge doctor`, and BRIDGE_DEBUG."""

from __future__ import annotations

import sys
import time
import traceback
from typing import TYPE_CHECKING

from bridge.config import Settings
from bridge.errors import StateVanished
from bridge.host.events import DECIDED_ONCE
from bridge.store.location import Place, open_state
from bridge.store.lock import LockBusy
from bridge.store.rotating_log import append

if TYPE_CHECKING:
    from bridge.host.context import HookContext
    from bridge.host.output import HookOutput
    from bridge.store.directory import Folder

MAX_BYTES = 1024 * 1024


def log_failure(event_name: str) -> None:
    """Log the exception that is being handled; never raises."""
    try:
        if not _is_fault(sys.exception(), event_name):
            return
        home = Settings.from_environment().home
        # Another user's folder is refused: that user could read the paths.
        ours = Place(home, home, home, "our own folder")
        with open_state(ours, make=False) as folder:
            text = f"{event_name}\n{traceback.format_exc()}"
            _append(folder, "hook-errors.log", text)
    except Exception:  # noqa: BLE001, S110 - there is nowhere left to complain
        pass


def _is_fault(error: BaseException | None, event_name: str) -> bool:
    """Whether there is anything to fix.

    If the lock is busy, the next event does the work, unless there is none. If somebody
    removes the state directory meanwhile, there is nothing left to do.
    """
    if isinstance(error, LockBusy):
        return event_name in DECIDED_ONCE
    return not isinstance(error, StateVanished)


def log_answer(hook: HookContext, output: HookOutput) -> None:
    """Log an event and what was answered."""
    event = hook.event
    fields = {
        key: event.raw[key]
        for key in ("session_id", "agent_id", "tool_name", "tool_use_id", "source")
        if key in event.raw
    }
    said = (output.stdout.decode() or output.stderr)[:2000]
    text = f"{event.name} {fields} -> exit {output.exit_code} {said}\n"
    with hook.store.state() as state:
        _append(state.directory, "debug.log", text)


def _append(folder: Folder, name: str, text: str) -> None:
    entry = f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {text}".encode("utf-8", "replace")
    append(folder, name, entry, max_bytes=MAX_BYTES, older=f"{name}.1")
