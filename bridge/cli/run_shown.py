"""A run that is followed on the terminal: what runs is shown, Ctrl-C pauses it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

from bridge.api.follow_run import pause
from bridge.cli.interrupts import Interrupts
from bridge.cli.run_display import Display
from bridge.cli.run_log import RunLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.api.bridge import Bridge

T = TypeVar("T")


def shown(
    bridge: Bridge, go: Callable[[Callable[[Any], None]], T], *, as_json: bool
) -> T:
    """Have a run followed by `go`, which tells of each change; what that returns."""
    display: Display | RunLog
    if sys.stderr.isatty() and not as_json:
        display = Display(bridge)
    else:
        display = RunLog(bridge, only_waiting=as_json)
    interrupts = Interrupts()
    interrupts.on()

    def on_change(seen: Any) -> None:
        interrupts()
        display(seen)

    try:
        with display:
            return go(on_change)
    except KeyboardInterrupt as exc:
        if display.run and pause(bridge.store, bridge.settings, display.run):
            exc.add_note(
                f"the run is paused; go on with: hostbridge run --resume {display.run}"
            )
        raise
