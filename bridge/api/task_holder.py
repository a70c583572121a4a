"""Who claims a task from here: the open session it is claimed in, or who runs this."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.store.host_process import identify
from bridge.store.sessions import live_sessions
from bridge.tasks.claims import holder_in
from bridge.tasks.task import Holder

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.store.store import Store


def program_here(store: Store, settings: Settings) -> Holder:
    """This program, unless an open session runs it: then that session's process."""
    found = _session_above(store, settings)
    return found or Holder("a program", identify(os.getpid()))


def person_here(store: Store, settings: Settings) -> Holder:
    """The shell that a command was typed into, unless an open session runs it.

    The command itself is gone as soon as it has claimed.
    """
    return _session_above(store, settings) or Holder("person", identify(os.getppid()))


def _session_above(store: Store, settings: Settings) -> Holder | None:
    if settings.host_pid is None:
        return None
    sessions = live_sessions(store) if store.exists() else []
    for session in sessions:
        if session.host.pid == settings.host_pid:
            return holder_in(session)
    process = identify(settings.host_pid)
    return Holder("a session", process) if process else None
