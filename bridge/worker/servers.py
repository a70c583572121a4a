"""A server for a route of this machine, with what it needs to serve a project."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bridge.api.known_agents import Agents
from bridge.worker.executors import executor_for
from bridge.worker.worker import Server

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.config import Settings
    from bridge.protocol.executor import Progress
    from bridge.protocol.status import Stage
    from bridge.routes import OwnRoute
    from bridge.store.store import Store


def open_server(
    store: Store,
    settings: Settings,
    route: OwnRoute,
    *,
    on_stage: Callable[[Stage], None],
    on_progress: Callable[[Progress], None],
) -> Server:
    """What serves the requests of a route in this process; see `Server`.

    Raises:
        NoRoute: this machine lacks what the route needs.
        NotShipped: this installation has no built-in definitions.
    """
    agents = Agents.open(settings, store.place.project)
    return Server(
        store,
        route,
        executor_for(route, settings, store),
        define=partial(agents.define, store),
        max_depth=settings.max_depth,
        on_stage=on_stage,
        on_progress=on_progress,
    )
