"""Which open sessions could take a request."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.errors import StateRefused, StateUnavailable
from bridge.host.eligibility import eligible, may_take
from bridge.protocol.ids import check_id
from bridge.store import sessions, switch, wakeups

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.protocol.request import Request
    from bridge.store.sessions import Session
    from bridge.store.store import Store

__all__ = ["Hosts", "eligible_hosts", "may_take"]


def eligible_hosts(store: Store, request: Request, *, lease_s: float) -> list[Session]:
    """Live sessions that may take the request."""
    live = sessions.live_sessions(
        store, lease_s=lease_s, which=lambda session: may_take(session, request)
    )
    return eligible(store, live, request)


class Hosts:
    """The open sessions, as a program that asks sees them."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    @property
    def is_off(self) -> bool:
        """Whether everything is to stop, by the environment or by `hostbridge off`."""
        return self._settings.off or switch.is_off(self._store)

    def of(self, request: Request) -> list[Session]:
        """Those that may take the request."""
        lease_s = self._settings.lease_s
        return eligible_hosts(self._store, request, lease_s=lease_s)

    def can_answer(self, request: Request) -> bool:
        """Whether any may take it while whoever asks waits."""
        return bool(self.of(request)) and not self.would_wait_for_itself(request)

    def ring(self, request: Request) -> None:
        """Wake those that may take it."""
        # Durable already: a bell that cannot be rung costs time, not the request.
        with suppress(StateUnavailable, StateRefused):
            wakeups.wake(self._store, self.of(request))

    def would_wait_for_itself(self, request: Request) -> bool:
        """Whether the only host that could answer is waiting for this very process.

        A background subagent may wait: the main thread is free to answer.
        """
        pid = self._settings.host_pid
        if pid is None:
            return False
        if any(host.host.pid != pid for host in self.of(request)):
            return False
        if request.parent_request_id is None:
            return True
        parent = self._store.find(check_id(request.parent_request_id))
        claim = parent.request.claim if parent and parent.request else None
        return not (claim and claim.background)
