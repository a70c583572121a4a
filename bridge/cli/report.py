"""Write a page that shows how requests, flows and tasks went: charts and tables.

The page is one file that needs no network. It shows success, times to answer, waits,
retries, corrections, verified answers and tokens, by day, agent, route and model, of
what is still in the journal. Its reader can choose among them. An earlier report is
replaced, no other file is.

For example:
  hostbridge report --open
  hostbridge report last-week.html --since 7d
"""

import sys
from argparse import Namespace
from pathlib import Path

from bridge.api.bridge import Bridge
from bridge.cli.durations import DAY_S, duration
from bridge.cli.options import AS_JSON, option, switch
from bridge.cli.output import complain, say_result, short_path
from bridge.cli.parser import UsageError

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
        dest="since_s",
        metavar="TIME",
        type=duration(most_s=3650 * DAY_S),
        help="Only what has ended in this time, such as 7d; by default all.",
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
        from bridge.api.report import report_page

        text = report_page(bridge.store, options.since_s)
        sys.stdout.buffer.write(text.encode())
        return
    file = bridge.report(options.file, since_s=options.since_s)
    say_result(options, {"file": file, "bytes": file.stat().st_size}, str(file))
    if options.open and not _show(file):
        complain(f"no browser was found; open it yourself: {short_path(file)}")


def _show(file: Path) -> bool:
    import webbrowser

    return webbrowser.open(file.as_uri())
