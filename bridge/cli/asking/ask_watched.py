"""`ask --watch`: ask again whenever something that the answer rests on has changed."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from bridge.cli.common.error_report import report
from bridge.cli.common.interrupts import Interrupts
from bridge.cli.common.output import complain
from bridge.errors import BridgeError, CannotWaitHere

if TYPE_CHECKING:
    from bridge.api.bridge import Bridge
    from bridge.api.result import Result


def watch(
    bridge: Bridge,
    options: Namespace,
    ask: Callable[[], Result[Any]],
    show: Callable[[Result[Any]], None],
    interrupts: Interrupts,
) -> NoReturn:
    """Ask, show the answer, and again, until an interrupt.

    A failure is shown, and the next change asks again; what cannot be asked at all, at
    first, ends it. What changes while nobody knows what an answer rests on is not seen:
    it may be the agent's own doing.
    """
    words = ["--json"] if options.as_json else []
    is_first = True
    while True:
        try:
            result = ask()
        except CannotWaitHere:
            # Its session would wait for what it watches, however often it asks.
            raise
        except BridgeError as exc:
            if is_first and exc.request_id is None:
                raise
            # First: whoever reads what is printed may change something at once.
            watched = bridge.watch()
            report(exc, words)
        else:
            watched = bridge.watch(result.request_id)
            show(result)
        if watched.why_all:
            complain(f"{watched.why_all}; watching all of the project")
        is_first = False
        while not watched.has_changed():
            interrupts()
            time.sleep(watched.pause_s)
        if watched.restless:
            complain(f"{watched.restless} goes on changing; asking all the same")
