"""`hostbridge status --watch`: the overview, kept up to date until Ctrl-C.

It is read once a second, and at once when something comes into a folder. The
screen is as large as the terminal is at that moment; what has not changed is not drawn.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.cli.common.interrupts import Interrupts
from bridge.cli.common.output import say_json
from bridge.cli.records.live_text import live_lines
from bridge.cli.screen.screen import printed, screen_of
from bridge.errors import InvalidRequest
from bridge.store.folder_events import FolderEvents

if TYPE_CHECKING:
    from rich.text import Text

    from bridge.api.bridge import Bridge

_FOLDERS = ("requests", "processing", "responses", "sessions", "agents")
_REFRESH_S = 1.0
_REST_S = 0.1


def watch_table(bridge: Bridge) -> None:
    """Draw the overview on the terminal, in place."""
    from rich.console import Console
    from rich.live import Live

    console = Console()
    if console.is_dumb_terminal:
        raise InvalidRequest(
            "--watch redraws the screen, which this terminal cannot (TERM=dumb); add "
            "--json"
        )
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        shown: list[Text] = []

        def show() -> None:
            width, height = console.size
            drawn = _drawn(bridge, width, height)
            if shown != [drawn]:
                shown[:] = [drawn]
                live.update(drawn, refresh=True)

        _again(bridge, show)


def watch_json(bridge: Bridge) -> None:
    """Print the overview as a line of JSON each time."""
    _again(bridge, lambda: say_json(bridge.overview()))


def _again(bridge: Bridge, show: Callable[[], None]) -> None:
    interrupts = Interrupts()
    interrupts.on(signal.SIGINT)
    state = bridge.store.place.state
    folders = FolderEvents(state / name for name in _FOLDERS)
    with suppress(KeyboardInterrupt), folders as events:
        while True:
            interrupts()
            before = _times(state)
            show()
            until_s = time.monotonic() + _REFRESH_S
            while (left_s := until_s - time.monotonic()) > 0:
                events.wait(left_s, rest_s=_REST_S)
                if _times(state) != before:
                    break


def _times(state: Path) -> list[int]:
    found = []
    for name in _FOLDERS:
        with suppress(OSError):
            found.append(os.stat(state / name).st_mtime_ns)
    return found


def _drawn(bridge: Bridge, width: int, height: int) -> Text:
    from rich.text import Text

    # The cursor waits below.
    lines = live_lines(bridge.overview(), width, height - 1)
    colour = screen_of(sys.stdout).colour
    # An id that is longer than a line continues on the next.
    return Text.from_ansi(printed(lines, colour=colour), overflow="fold")
