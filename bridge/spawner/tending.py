"""What a waiter does now and then: it looks after what it waits for.

Nobody else need be there: whoever waits takes back what a dead host held, ends what is
overdue, rings again for what nobody took up, and tells how far a request has come.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.errors import BridgeError, StateUnavailable
from bridge.host import bells
from bridge.host.sweeping import sweep
from bridge.protocol.status import Stage, Status
from bridge.spawner.hosts import eligible_hosts
from bridge.store.decide import expired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.protocol.ids import RequestId
    from bridge.protocol.request import Request
    from bridge.store import Found
    from bridge.store.files import FileStore

TEND_S = 2.0
RING_S = 5.0
# Of many awaited requests, so many are looked at each time.
_LOOKED_AT = 8


class Abandoned(BridgeError):
    """Nobody waits for the answer any more."""


def look_after(store: FileStore, ids: Iterable[RequestId], *, lease_s: float) -> bool:
    """End those of `ids` that are overdue, and give back what a dead host held.

    False when that cannot be done just now.
    """
    try:
        sweep(store, lease_s=lease_s, waiting=ids)
    except StateUnavailable:
        return False
    return True


class Tender:
    """Looks after requests while their waiter waits; called every second or so.

    Args:
        store: one that does not wait long for its lock.
        ids: what is awaited; the caller takes out what has ended.
        lease_s: as in `FileStore`.
        on_stage: told how far each request looked at has come, whoever holds the lock;
            what it raises ends the wait.
    """

    def __init__(
        self,
        store: FileStore,
        ids: set[RequestId],
        *,
        lease_s: float,
        on_stage: Callable[[Stage], None],
    ) -> None:
        self._store = store
        self._ids = ids
        self._lease_s = lease_s
        self._on_stage = on_stage
        self._tended = self._rung = store.clock.monotonic_s()

    def __call__(self) -> None:
        """Do what is due."""
        now = self._store.clock.monotonic_s()
        if now - self._tended < TEND_S:
            return
        self._tended = now
        ring = now - self._rung >= RING_S
        if ring:
            self._rung = now
        ids = sorted(self._ids)[:_LOOKED_AT]
        # First: who is told may be gone, and is not to stay for a lock that is held.
        with suppress(StateUnavailable):
            for request_id in ids:
                self._tell(request_id)
        with suppress(StateUnavailable):
            sweep(self._store, lease_s=self._lease_s)
            for request_id in ids:
                self._look_after(request_id, ring=ring)

    def stage_of(self, found: Found) -> Stage:
        """How far a request is, as a waiter reports it."""
        request = found.request
        if request is None:
            return Stage.WAITING
        waits_for_host = found.status is Status.PENDING and request.route == "host"
        if waits_for_host and not eligible_hosts(
            self._store, request, lease_s=self._lease_s
        ):
            return Stage.NO_HOST
        return request.stage

    def _tell(self, request_id: RequestId) -> None:
        found = self._store.find(request_id)
        if found is not None and found.response is None:
            self._on_stage(self.stage_of(found))

    def _look_after(self, request_id: RequestId, *, ring: bool) -> None:
        found = self._store.find(request_id)
        if found is None or found.request is None or found.response is not None:
            return
        request = found.request
        now_ms = self._store.now_ms()
        if now_ms >= request.deadline_ms:
            late = expired(request, now_ms, self.stage_of(found))
            self._store.publish(late, source="waiter")
        elif ring and request.stage in (Stage.WAITING, Stage.OFFERED):
            self._ring(request)
        elif request.stage is Stage.WAITING:
            self._ring(request, again=True)

    def _ring(self, request: Request, *, again: bool = False) -> None:
        hosts = eligible_hosts(self._store, request, lease_s=self._lease_s)
        with suppress(StateUnavailable):
            bells.ring(self._store, hosts, again=again)
