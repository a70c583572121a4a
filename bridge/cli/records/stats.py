"""How it goes: what has ended, how well, how fast, and what it took.

Of each agent, or what `--by` names: how many requests have ended, and which share of
them in success; the time from the question to the end, of one in two (P50) and of 19 in
20 (P95); how long one in two waited until its agent began; which share of the answers
rests on something that was seen to run; tokens without what a cache had. Then why
requests failed, flows, tasks. What has no room on a terminal is in --json.

For example:
  hostbridge stats
  hostbridge stats --since 30d --by agent --by model
"""

import sys
from argparse import Namespace

from bridge.api.bridge import Bridge
from bridge.cli.common.options import AS_JSON, option
from bridge.cli.common.output import say, say_json, tell
from bridge.cli.screen.durations import since
from bridge.cli.screen.screen import screen_of

OPTIONS = (
    option(
        "--since",
        metavar="WHEN",
        type=since,
        default="7d",
        help="From when on: 7d (the default) or 24h ago, a day such as 2026-11-01, "
        "or all.",
    ),
    option(
        "--by",
        action="append",
        metavar="agent|route|model|day",
        choices=("agent", "route", "model", "day"),
        help="What a line is about; several times for several. Default: agent.",
    ),
    AS_JSON,
)


def command(options: Namespace) -> None:
    """Print the metrics of the project."""
    found = Bridge.open().stats(since=options.since, by=options.by or ["agent"])
    if options.as_json:
        say_json(found.to_data())
        return
    from bridge.cli.records.stats_text import nothing_ended, stats_lines

    if not (found.cells or found.flows or found.tasks):
        tell(nothing_ended(found))
        return
    say(*stats_lines(found, screen_of(sys.stdout).width))
