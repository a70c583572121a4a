"""Serve, one after another, what waits for the routes of this machine."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.errors import BridgeError, NoRoute, StateUnavailable
from bridge.host.sessions import is_off as is_switched_off
from bridge.protocol.ids import RequestId
from bridge.protocol.status import Status
from bridge.spawner.answerers import served_routes
from bridge.spawner.result import result_of
from bridge.spawner.routes import check_own

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from bridge.protocol.request import RouteName
    from bridge.spawner.bridge import Bridge
    from bridge.spawner.result import Result
    from bridge.spawner.serving import Server
    from bridge.store.files import FileStore

_LOOK_S = 0.5
_SWEEP_S = 5.0
# Of the time, in a long queue where a sweep takes long.
_SWEEP_SHARE = 0.05


def _ignore(_routes: tuple[RouteName, ...]) -> None:
    pass


def serve(
    bridge: Bridge,
    *,
    routes: Iterable[str] | None = None,
    once: bool = False,
    on_bug: Callable[[RequestId, Exception], None],
    on_start: Callable[[tuple[RouteName, ...]], None] = _ignore,
) -> Iterator[Result]:
    """Yield a result for each request served; ends when nothing waits, with `once`.

    One that was for these routes and ran out of time before is yielded, too. Without
    `routes` all that this machine can serve; `on_start` is told which these are. An
    interrupt gives back the request that is being served. A bug of ours ends the
    request that met it and no other: `on_bug` is told, inside its `except`, and the
    request is not tried again.

    Raises:
        InvalidRequest: no such route.
        NoRoute: this machine lacks what a named route needs, or has no route at all.
    """
    servers = _servers(bridge, routes)
    on_start(tuple(servers))
    store = bridge.store
    sweep_at_s = float("-inf")
    looked_at_ns: int | None = None
    broken: set[RequestId] = set()
    while True:
        with suppress(StateUnavailable):
            began_s = time.monotonic()
            if began_s >= sweep_at_s:
                yield from _overdue(store, servers)
                took_s = time.monotonic() - began_s
                sweep_at_s = began_s + max(_SWEEP_S, took_s / _SWEEP_SHARE)
                looked_at_ns = None
            changed_ns = store.queue_changed_ns()
            is_off = bridge.settings.off or is_switched_off(store)
            if changed_ns != looked_at_ns and not is_off:
                yield from _serve_waiting(store, servers, broken, on_bug)
                # As it was before the look: what came during it is looked at again.
                looked_at_ns = changed_ns
        if once:
            return
        time.sleep(_LOOK_S)


def _servers(bridge: Bridge, routes: Iterable[str] | None) -> dict[RouteName, Server]:
    if routes:
        return {named: bridge.server(named) for named in map(check_own, routes)}
    found = {}
    problems = []
    for route in served_routes():
        try:
            found[route] = bridge.server(route)
        except NoRoute as exc:
            problems.append(str(exc))
    if not found:
        raise NoRoute("; ".join(problems))
    return found


def _overdue(store: FileStore, routes: Container[RouteName]) -> Iterator[Result]:
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


def _serve_waiting(
    store: FileStore,
    servers: dict[RouteName, Server],
    broken: set[RequestId],
    on_bug: Callable[[RequestId, Exception], None],
) -> Iterator[Result]:
    """Serve what waits now, but for what is `broken`; adds to that."""
    for request_id in store.waiting():
        found = store.find(request_id)
        server = servers.get(found.request.route) if found and found.request else None
        if server is None or request_id in broken:
            continue
        try:
            if not _served(store, server, request_id):
                continue
        except BridgeError:
            raise
        except Exception as exc:  # noqa: BLE001 - one request's bug is no other's end
            broken.add(request_id)
            on_bug(request_id, exc)
        ended = store.find(request_id)
        if ended and ended.response:
            yield result_of(ended.response)


def _served(store: FileStore, server: Server, request_id: RequestId) -> bool:
    try:
        return server.serve(request_id)
    except KeyboardInterrupt:
        store.give_back(request_id, server.claimant.host, lambda held: held)
        raise
