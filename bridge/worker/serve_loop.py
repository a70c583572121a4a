"""Serve, one after another, what waits for the routes of this machine."""

from __future__ import annotations

import time
from collections import Counter, deque
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.api.result import result_of
from bridge.api.routing import check_own
from bridge.errors import BridgeError, NoRoute, StateUnavailable
from bridge.host.sessions import is_off as is_switched_off
from bridge.protocol.ids import RequestId
from bridge.protocol.status import Status
from bridge.routes import OWN
from bridge.worker.executors import served_routes

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from bridge.api.bridge import Bridge
    from bridge.api.result import Result
    from bridge.protocol.request import RouteName
    from bridge.store.store import Store
    from bridge.worker.worker import Server

_LOOK_S = 0.5
_SWEEP_S = 5.0
# Of the time, in a long queue where a sweep, or a look, takes long.
_SHARE = 0.05
# A queue of so many is looked at again after each request that was served.
_SHORT = 256


def _ignore(_told: object) -> None:
    pass


def serve(
    bridge: Bridge,
    *,
    routes: Iterable[str] | None = None,
    once: bool = False,
    on_bug: Callable[[RequestId, Exception], None],
    on_start: Callable[[tuple[RouteName, ...]], None] = _ignore,
    on_trouble: Callable[[StateUnavailable], None] = _ignore,
) -> Iterator[Result]:
    """Yield a result for each request served; with `once`, of those that wait now.

    Before each one it looks whether hostbridge was switched off, whether a sweep is
    due, and what comes first by now. With `once` nothing that comes later is served,
    or a program that asks again and again would keep it from its end.

    One that was for these routes and ran out of time before is yielded, too. Without
    `routes` all that this machine can serve; `on_start` is told which these are. An
    interrupt gives back the request that is being served. A bug of ours ends the
    request that met it and no other: `on_bug` is told, inside its `except`, and the
    request is not tried again. While the state cannot be used it is tried again, and
    `on_trouble` is told once, until it could be; with `once` that is its end.

    Raises:
        InvalidRequest: no such route.
        NoRoute: this machine lacks what a named route needs, or has no route at all.
        StateUnavailable: with `once`, the state cannot be used just now; what has not
            been yielded waits.
    """
    servers = _servers(bridge, routes)
    on_start(tuple(servers))
    store = bridge.store
    sweep_at_s = float("-inf")
    queue = _Queue(store, servers, only_now=once)
    is_told = False
    while True:
        try:
            began_s = time.monotonic()
            if began_s >= sweep_at_s:
                yield from _overdue(store, servers)
                took_s = time.monotonic() - began_s
                sweep_at_s = began_s + max(_SWEEP_S, took_s / _SHARE)
                queue.forget()
            is_off = bridge.settings.off or is_switched_off(store)
            first = None if is_off else queue.find_first()
            if first is not None:
                yield from _serve_one(store, *first, queue, on_bug)
        except StateUnavailable as exc:
            if once:
                raise
            if not is_told:
                on_trouble(exc)
            is_told = True
        else:
            is_told = False
            if first is not None:
                continue
            if once:
                return
        time.sleep(_LOOK_S)


def waiting_for_others(bridge: Bridge, served: Container[str]) -> Counter[str]:
    """How many wait for each route of ours that is not among those `served`.

    Raises:
        StateUnavailable: the state cannot be used just now.
    """
    waiting = map(bridge.store.find, bridge.store.waiting())
    routes = (found.request.route for found in waiting if found and found.request)
    return Counter(name for name in routes if name in OWN and name not in served)


def _servers(bridge: Bridge, routes: Iterable[str] | None) -> dict[RouteName, Server]:
    if routes:
        return {named: bridge.server(named) for named in map(check_own, routes)}
    found: dict[RouteName, Server] = {}
    problems = []
    for route in served_routes():
        try:
            found[route] = bridge.server(route)
        except NoRoute as exc:
            problems.append(str(exc))
    if not found:
        raise NoRoute("; ".join(problems))
    return found


def _overdue(store: Store, routes: Container[RouteName]) -> Iterator[Result]:
    """Take back what the dead held, and end what is overdue; yield that."""
    waiting = map(store.find, store.waiting())
    live = [found.request for found in waiting if found and found.request]
    live += store.claimed()
    store.sweep(everything=True)
    for request in live:
        found = store.find(RequestId(request.request_id))
        response = found.response if found and request.route in routes else None
        if response is not None and response.status is Status.TIMEOUT:
            yield result_of(response)


class _Queue:
    """What waits for these servers, in order; read only when it may have changed.

    Args:
        store: where it waits.
        servers: by route; what is for another is remembered, and not read again.
        only_now: whether what comes after the first look is left out.
    """

    def __init__(
        self, store: Store, servers: dict[RouteName, Server], *, only_now: bool
    ) -> None:
        self.broken: set[RequestId] = set()
        self._store = store
        self._servers = servers
        self._only_now = only_now
        self._ids: deque[RequestId] = deque()
        self._others: set[RequestId] = set()
        self._looked_at_ns: int | None = None
        self._look_at_s = float("-inf")

    def forget(self) -> None:
        """Look again in any case: a file may change, and its folder not."""
        self._others.clear()
        if not self._only_now:
            self._looked_at_ns = None

    def find_first(self) -> tuple[RequestId, Server] | None:
        """The first that waits, and its server; each is given once in a look."""
        self._look_if_due()
        while self._ids:
            request_id = self._ids.popleft()
            if request_id in self._others or request_id in self.broken:
                continue
            found = self._store.find(request_id)
            if found is None or found.request is None:
                continue
            server = self._servers.get(found.request.route)
            if server is not None:
                return request_id, server
            self._others.add(request_id)
        return None

    def _look_if_due(self) -> None:
        if self._only_now and self._looked_at_ns is not None:
            return
        changed_ns = self._store.queue_changed_ns()
        began_s = time.monotonic()
        # Else the end of a long queue would cost its length at each request.
        is_due = not self._ids or began_s >= self._look_at_s
        if changed_ns == self._looked_at_ns or not is_due:
            return
        self._ids = deque(self._store.waiting())
        # As it was before the look: what came during it is looked at again.
        self._looked_at_ns = changed_ns
        took_s = time.monotonic() - began_s if len(self._ids) > _SHORT else 0.0
        self._look_at_s = began_s + took_s / _SHARE


def _serve_one(
    store: Store,
    request_id: RequestId,
    server: Server,
    queue: _Queue,
    on_bug: Callable[[RequestId, Exception], None],
) -> Iterator[Result]:
    """Serve a request, if it still waits; one that meets a bug is `broken` from now."""
    try:
        if not _served(store, server, request_id):
            return
    except BridgeError:
        raise
    except Exception as exc:  # noqa: BLE001 - one request's bug is no other's end
        queue.broken.add(request_id)
        on_bug(request_id, exc)
    ended = store.find(request_id)
    if ended and ended.response:
        yield result_of(ended.response)


def _served(store: Store, server: Server, request_id: RequestId) -> bool:
    try:
        return server.serve(request_id)
    except KeyboardInterrupt:
        with suppress(StateUnavailable):
            store.give_back(request_id, server.claimant.host, lambda held: held)
        raise
