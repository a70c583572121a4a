"""Write a page that shows how requests, flows and tasks went: charts and tables.

The page is one file that needs no network. It shows success, times to answer, waits,
retries, corrections, verified answers and tokens, by day, agent, route and model, and
its reader can choose among them. An earlier report is replaced, no other file is.

For example:
  hostbridge report --open
  hostbridge report last-week.html --since 7d
"""

import sys
from argparse import Namespace
from pathlib import Path

from bridge.api.bridge import Bridge
from bridge.cli.common.options import AS_JSON, option, switch
from bridge.cli.common.output import complain, say_result, short_path
from bridge.cli.common.parser import UsageError
from bridge.cli.screen.durations import since

FILE = "hostbridge-report.html"
OPTIONS = (
    option(
        "file",
        nargs="?",
        default=FILE,
        metavar="FILE",
        completes="file",
        help=f"Where to write it, by default {FILE}; - prints it.",
    ),
    option(
        "--since",
        metavar="WHEN",
        type=since,
        default="all",
        help="From when on: 7d or 24h ago, a day such as 2026-11-01, or all, the "
        "default.",
    ),
    switch("--open", help="Show it in the browser."),
    AS_JSON,
)


def command(options: Namespace) -> None:
    """Write the page and say where."""
    bridge = Bridge.open()
    if options.file == "-":
        if options.open or options.as_json:
            raise UsageError("report -: the page goes to stdout, and nowhere else")
        from bridge.report.page import page

        text = page(bridge.stats(since=options.since).to_data())
        sys.stdout.buffer.write(text.encode())
        return
    file = bridge.report(options.file, since=options.since)
    say_result(options, {"file": file, "bytes": file.stat().st_size}, str(file))
    if options.open and not _show(file):
        complain(f"no browser was found; open it yourself: {short_path(file)}")


def _show(file: Path) -> bool:
    import webbrowser

    return webbrowser.open(file.as_uri())
