"""`hostbridge status --watch`: the overview, kept up to date until Ctrl-C.

It is read once a second, and at once when the mtime of a folder shows a change.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.cli.output import say_json
from bridge.cli.screen import printed
from bridge.cli.status_text import overview_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.text import Text

    from bridge.api.bridge import Bridge

_FOLDERS = ("requests", "processing", "responses", "sessions", "agents")
_REFRESH_S = 1.0
_POLL_S = 0.1


def watch_table(bridge: Bridge) -> None:
    """Draw the overview on the terminal, in place."""
    from rich.live import Live

    with Live(auto_refresh=False, vertical_overflow="crop") as live:
        width = live.console.width
        _again(bridge, lambda: live.update(_drawn(bridge, width), refresh=True))


def watch_json(bridge: Bridge) -> None:
    """Print the overview as a line of JSON each time."""
    _again(bridge, lambda: say_json(bridge.overview()))


def _again(bridge: Bridge, show: Callable[[], None]) -> None:
    with suppress(KeyboardInterrupt):
        while True:
            before = _times(bridge.store.place.state)
            show()
            until_s = time.monotonic() + _REFRESH_S
            while time.monotonic() < until_s:
                time.sleep(_POLL_S)
                if _times(bridge.store.place.state) != before:
                    break


def _times(state: Path) -> list[int]:
    found = []
    for name in _FOLDERS:
        with suppress(OSError):
            found.append(os.stat(state / name).st_mtime_ns)
    return found


def _drawn(bridge: Bridge, width: int) -> Text:
    from rich.text import Text

    lines = overview_lines(bridge.overview(), width)
    # An id that is longer than a line continues on the next. The escape sequences are
    # only ours; rich leaves them out where the terminal shows no colour.
    return Text.from_ansi(printed(lines, colour=True), overflow="fold")
