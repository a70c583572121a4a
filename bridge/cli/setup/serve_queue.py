"""`hostbridge serve --queue`: answer what other machines ask over the queue."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from bridge.api.result import result_of
from bridge.api.wait import Waiter
from bridge.cli.asking.answer_text import result_line
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.output import complain, record, say_result
from bridge.errors import InvalidRequest, NoRoute
from bridge.protocol.status import Stage, ignore
from bridge.remote.forward import open_queue
from bridge.routes import OWN, REMOTE, check_own
from bridge.worker.executors import open_worker

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from bridge.api.bridge import Bridge
    from bridge.protocol.ids import RequestId
    from bridge.protocol.response import Response
    from bridge.remote.take import Serve

# A login is its user's own: these answer for others only if they are named.
_OWN_LOGIN = ("host", "claude")
_HOST = "host"


def serve_queue(bridge: Bridge, options: Namespace) -> int:
    """Serve until an interrupt; returns the exit code."""
    from bridge.remote.here import Here, Terms
    from bridge.remote.take import Taker

    queue = open_queue(bridge.settings)
    queue.check()
    serves = _serves(bridge, _names(options.routes), options.slots)
    routes = tuple(serves[0])
    lock = threading.Lock()

    def on_end(response: Response, asker: str) -> None:
        with lock:
            line = f"{result_line(result_of(response))}, for {asker}"
            say_result(options, record(response), line)

    terms = Terms(
        routes,
        frozenset(_names(options.agents)) or None,
        options.slots,
        same_commit=options.same_commit,
    )
    here = Here(bridge.store, bridge.settings, terms, queue.address)
    taker = Taker(
        queue,
        bridge.store,
        bridge.settings,
        here,
        serves,
        on_end,
        complain,
        once=options.once,
        drain=options.drain,
    )
    complain(
        f"serving the queue {queue.address} as {here.name}, for the project "
        f"{here.project[:12]}, by {', '.join(routes)}"
    )
    if named := [route for route in routes if route in _OWN_LOGIN]:
        whose = " and ".join(named)
        complain(f"{whose}: answers others with your login; see many-machines.md")
    taker.run()
    return Exit.OK


def _names(given: str | None) -> list[str]:
    return [name for each in (given or "").split(",") if (name := each.strip())]


def _serves(bridge: Bridge, named: list[str], slots: int) -> list[dict[str, Serve]]:
    """Who serves each route, once for each slot.

    Raises:
        InvalidRequest: no such route, or one that only passes on.
        NoRoute: this machine lacks what a named route needs, or has none to offer.
    """
    if REMOTE in named:
        raise InvalidRequest(
            "--routes: what came from the queue does not go back there"
        )
    routes = [name if name == _HOST else check_own(name, "--routes") for name in named]
    if not routes:
        routes = [name for name in OWN if name not in (*_OWN_LOGIN, REMOTE)]
    found: list[dict[str, Serve]] = [{} for _ in range(slots)]
    problems = []
    for route in routes:
        try:
            for each in found:
                each[route] = _serve(bridge, route)
        except NoRoute as exc:
            if named:
                raise
            problems.append(str(exc))
            complain(f"not offered: {exc}")
    if not found[0]:
        raise NoRoute("; ".join(problems))
    return found


def _serve(bridge: Bridge, route: str) -> Serve:
    if route == _HOST:
        return _HostRoute(bridge)
    worker = open_worker(bridge.store, bridge.settings, check_own(route))

    def serve(request_id: RequestId, on_stage: Callable[[Stage], None]) -> None:
        worker.on_stage = on_stage
        worker.see_through(request_id)

    return serve


class _HostRoute:
    """Has the session that is open here answer."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    def __call__(
        self, request_id: RequestId, on_stage: Callable[[Stage], None] = ignore
    ) -> None:
        store = self._bridge.store
        request = store.find_unfinished(request_id)
        if request is None:
            return
        self._bridge.hosts.wake(request)
        left_s = max(0.0, (request.deadline_ms - store.now_ms()) / 1000)
        Waiter(store, on_stage=on_stage).to_its_end(request_id, left_s)
