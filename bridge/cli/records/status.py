"""What waits, what runs, which sessions are open.

Of many waiting requests the first twenty are shown, in the order in which they will be
taken. --watch keeps it on the screen, until Ctrl-C, as large as the terminal is: on top
what needs you, then the sessions with their budgets, what runs where and since when,
what waits and for what, the open steps of runs, and what ended last, with its tokens.
With --json it prints a line a second; the facts are the same. --queue shows the queue
of the route remote instead: what waits there, and which machines serve it.

For example:
  hostbridge status
  hostbridge status --watch
  hostbridge status --queue
"""

import sys
from argparse import Namespace

from bridge.api.bridge import Bridge
from bridge.cli.common.options import AS_JSON, switch
from bridge.cli.common.output import say_result
from bridge.cli.records.status_text import overview_lines
from bridge.cli.screen.screen import screen_of
from bridge.errors import InvalidRequest

OPTIONS = (
    switch("--all", help="Also how much of each budget is used."),
    switch("--watch", help="Keep showing it, until Ctrl-C."),
    switch("--queue", help="What waits on the queue, and who serves it."),
    AS_JSON,
)


def command(options: Namespace) -> None:
    """Print the overview once, or until interrupted."""
    bridge = Bridge.open()
    if options.queue:
        _say_queue(bridge, options)
    elif not options.watch:
        seen = bridge.overview()
        width = screen_of(sys.stdout).width
        lines = overview_lines(seen, width, all_budgets=options.all)
        say_result(options, seen, *lines)
    else:
        from bridge.cli.records.live_status import watch_json, watch_table

        if not options.as_json and not sys.stdout.isatty():
            raise InvalidRequest("--watch draws on a terminal; here, add --json")
        (watch_json if options.as_json else watch_table)(bridge)


def _say_queue(bridge: Bridge, options: Namespace) -> None:
    from bridge.remote.forward import open_queue

    queue = open_queue(bridge.settings)
    queue.check()
    from bridge.remote.health import data_of, lines_of

    say_result(options, data_of(queue), *lines_of(queue))
