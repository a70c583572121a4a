"""Who answers on which route in this process: the one place that knows every answerer.

A route that is missing here, or that lacks what it needs on this machine, is an error
before anything is asked.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from bridge.config import environment_for_a_client
from bridge.errors import NoRoute

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bridge.config import Settings
    from bridge.protocol.answering import Answerer
    from bridge.protocol.request import RouteName


def claude(settings: Settings, project: Path) -> Answerer:
    """`claude -p`, by the program that the settings name."""
    from bridge.claude_cli.answerer import ClaudeCli

    program = shutil.which(settings.claude)
    if program is None:
        raise NoRoute(
            f"route claude: no program {settings.claude!r} can be run; install Claude "
            "Code, or name its program in BRIDGE_CLAUDE"
        )
    return ClaudeCli(program, project, environment_for_a_client())


_ANSWERERS: dict[RouteName, Callable[[Settings, Path], Answerer]] = {"claude": claude}


def answerer_for(route: RouteName, settings: Settings, project: Path) -> Answerer:
    """The answerer of a route.

    Raises:
        NoRoute: this installation has none, or what it needs is missing.
    """
    if route not in _ANSWERERS:
        known = ", ".join(("host", *_ANSWERERS))
        raise NoRoute(f"this installation has no route {route!r} (it has {known})")
    return _ANSWERERS[route](settings, project)


def served_routes() -> tuple[RouteName, ...]:
    """The routes that this installation can serve by itself."""
    return tuple(_ANSWERERS)
