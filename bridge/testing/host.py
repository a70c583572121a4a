"""A stand-in for an open session: a process that is there, and a session on record.

The process does nothing; it is what a claim belongs to, so its death is what the death
of a client is: whoever looks next takes back what it held.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from bridge.store import Claimant
from bridge.store.host_process import identify
from bridge.store.sessions import Session, remove, save

if TYPE_CHECKING:
    from bridge.store.store import Store

SESSION = "scripted"
# An answer is given again while the session's model is the one that gave it.
MODEL = "scripted"


class StandIn:
    """One such process, with its session."""

    def __init__(self, store: Store) -> None:
        """Start it, and register its session."""
        self._store = store
        self.begin()

    def begin(self) -> None:
        """Start a process, and put the session of this name in its hands."""
        # It ends with its standard input, so with us.
        self._process = subprocess.Popen(
            ["cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        found = identify(self._process.pid)
        if found is None:
            raise RuntimeError("`cat` ended as soon as it was started")
        self.host = found
        now_ms = self._store.now_ms()
        self._session = Session(
            session_id=SESSION, host=found, registered_at=now_ms, model=MODEL
        )
        save(self._store, self._session)

    def claimant(self) -> Claimant:
        """Who claims, in the name of this process."""
        return Claimant(SESSION, self.host)

    def crash(self) -> None:
        """Kill the process; its session stays on record, as after a crash."""
        self._process.kill()
        self._process.communicate()

    def close(self) -> None:
        """End the process and its session."""
        remove(self._store, self._session)
        self.crash()
