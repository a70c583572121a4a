"""Serve, one after another, the requests that wait for the routes of this machine."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Container, Iterator, Mapping
from typing import TYPE_CHECKING

from bridge.errors import BridgeError, StateUnavailable
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.protocol.status import Status
from bridge.routes import OWN
from bridge.store.folder_events import FolderEvents
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.worker.worker import Worker

_LOOK_S = 0.5
_SWEEP_S = 5.0
# In a long queue, sweeps and looks at it get at most this share of the time each.
_SHARE = 0.05
# A queue of up to this length is listed again after each request.
_SHORT = 256


def serve(
    store: Store,
    workers: Mapping[str, Worker],
    *,
    is_off: Callable[[], bool],
    once: bool = False,
    on_bug: Callable[[RequestId, Exception], None],
    on_trouble: Callable[[StateUnavailable], None],
    on_look: Callable[[], None] = lambda: None,
) -> Iterator[Response]:
    """Yield the response of each request that was served, or found overdue.

    Before each request this checks whether hostbridge is switched off, sweeps if that
    is due, and picks the one that comes first by now. With `once` only what waits at
    the start is served: a program that keeps asking must not keep it from ending.

    An interrupt gives back the request that is being served. A bug ends the request
    that met it and no other: `on_bug` is called inside the `except` block, and the
    request is not tried again. While the state cannot be used, this keeps trying, and
    calls `on_trouble` once per outage. `on_look` is called with each sweep.

    Raises:
        StateUnavailable: with `once`, the state cannot be used; the remaining requests
            still wait.
    """
    sweep_at_s = float("-inf")
    queue = _Queue(store, workers, only_now=once)
    is_in_trouble = False
    with FolderEvents([store.place.state / "requests"]) as events:
        while True:
            try:
                began_s = time.monotonic()
                if began_s >= sweep_at_s:
                    yield from _overdue(store, workers)
                    on_look()
                    took_s = time.monotonic() - began_s
                    sweep_at_s = began_s + max(_SWEEP_S, took_s / _SHARE)
                    queue.forget()
                first = None if is_off() else queue.find_first()
                if first is not None:
                    yield from _serve_one(store, *first, queue, on_bug)
            except StateUnavailable as exc:
                if once:
                    raise
                if not is_in_trouble:
                    on_trouble(exc)
                is_in_trouble = True
            else:
                is_in_trouble = False
                if first is not None:
                    continue
                if once:
                    return
            events.wait(_LOOK_S)


def waiting_for_others(store: Store, served: Container[str]) -> Counter[str]:
    """How many requests wait for each route of ours that is not in `served`.

    Raises:
        StateUnavailable: the state cannot be used just now.
    """
    routes = (request.route for request in _waiting(store))
    return Counter(name for name in routes if name in OWN and name not in served)


def waiting_for_a_try(store: Store, served: Container[str]) -> list[Request]:
    """What waits for its next try on these routes; raises as `waiting_for_others`."""
    live = _waiting(store)
    return [each for each in live if each.route in served and each.failures]


def _waiting(store: Store) -> list[Request]:
    found = map(store.find, store.waiting())
    return [each.request for each in found if each and each.request]


def _overdue(store: Store, routes: Container[str]) -> Iterator[Response]:
    """Sweep, and yield the responses of what was overdue on these routes."""
    live = _waiting(store) + store.claimed()
    store.sweep(everything=True)
    for request in live:
        found = store.find(RequestId(request.request_id))
        response = found.response if found and request.route in routes else None
        if response is not None and response.status is Status.TIMEOUT:
            yield response


class _Queue:
    """What waits for these workers, in order; listed again only if it may have changed.

    Args:
        store: where the requests wait.
        workers: by route; requests for other routes are remembered and not read again.
        only_now: list the queue once, and leave out what comes later.
    """

    def __init__(
        self, store: Store, workers: Mapping[str, Worker], *, only_now: bool
    ) -> None:
        self.broken: set[RequestId] = set()
        self._store = store
        self._workers = workers
        self._only_now = only_now
        self._ids: deque[RequestId] = deque()
        self._others: set[RequestId] = set()
        self._looked_at_ns: int | None = None
        self._look_at_s = float("-inf")

    def forget(self) -> None:
        """Look again in any case: a file may change without its folder changing."""
        self._others.clear()
        if not self._only_now:
            self._looked_at_ns = None

    def find_first(self) -> tuple[RequestId, Worker] | None:
        """The first waiting request and its worker; each is returned once per look."""
        self._look_if_due()
        while self._ids:
            request_id = self._ids.popleft()
            if request_id in self._others or request_id in self.broken:
                continue
            found = self._store.find(request_id)
            if found is None or found.request is None:
                continue
            if found.request.is_paused(self._store.now_ms()):
                continue
            worker = self._workers.get(found.request.route)
            if worker is not None:
                return request_id, worker
            self._others.add(request_id)
        return None

    def _look_if_due(self) -> None:
        if self._only_now and self._looked_at_ns is not None:
            return
        changed_ns = self._store.queue_changed_ns()
        began_s = time.monotonic()
        # Listing a long queue after each request would be quadratic.
        is_due = not self._ids or began_s >= self._look_at_s
        if changed_ns == self._looked_at_ns or not is_due:
            return
        self._ids = deque(self._store.waiting())
        # The time from before the look: what arrived during it is looked at again.
        self._looked_at_ns = changed_ns
        took_s = time.monotonic() - began_s if len(self._ids) > _SHORT else 0.0
        self._look_at_s = began_s + took_s / _SHARE


def _serve_one(
    store: Store,
    request_id: RequestId,
    worker: Worker,
    queue: _Queue,
    on_bug: Callable[[RequestId, Exception], None],
) -> Iterator[Response]:
    """Serve a request if it still waits; one that meets a bug is not tried again."""
    try:
        if not worker.serve(request_id):
            return
    except KeyboardInterrupt:
        worker.give_back(request_id)
        raise
    except BridgeError:
        raise
    except Exception as exc:  # noqa: BLE001 - one request's bug is no other's end
        queue.broken.add(request_id)
        on_bug(request_id, exc)
    ended = store.find(request_id)
    if ended and ended.response:
        yield ended.response
