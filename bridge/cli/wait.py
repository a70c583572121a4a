"""Wait for requests, and print a line for each as it ends.

Ctrl-C leaves the requests as they are. Exit codes: 0 all answered with success; if some
failed in the same way, the code that `ask` would exit with (5 deadline, 4 no route, 7
degraded, 1 most others); 1 if they failed in different ways.

For example:
  id=$(hostbridge submit "Which modules lack tests?")
  hostbridge wait "$id" --timeout 10m
"""

from argparse import Namespace
from typing import TYPE_CHECKING

from bridge.api.bridge import DEFAULT_TIMEOUT_S, Bridge
from bridge.cli.answer_text import result_line
from bridge.cli.exit_codes import Exit, of_result
from bridge.cli.options import ACCEPT_DEGRADED, AS_JSON, IDS, timeout
from bridge.cli.output import record, say_result
from bridge.cli.progress import Progress
from bridge.cli.which_request import which

if TYPE_CHECKING:
    from bridge.protocol.response import Response

OPTIONS = (
    IDS,
    timeout("How long to wait; by default 2m.", least_s=0, default=DEFAULT_TIMEOUT_S),
    ACCEPT_DEGRADED,
    AS_JSON,
)


def command(options: Namespace) -> int:
    """Wait and print; returns the exit code."""
    codes = set()
    bridge, timeout_s = Bridge.open(), options.timeout_s
    ids = [which(bridge, each) for each in options.ids]
    failed: list[Response] = []
    with Progress(", ".join(ids[:2]) + (", ..." if len(ids) > 2 else "")) as progress:  # noqa: PLR2004
        for result in bridge.wait(ids, timeout_s=timeout_s, on_stage=progress):
            say_result(options, record(result.response), result_line(result))
            codes.add(of_result(result, accept_degraded=options.accept_degraded))
            if result.error:
                failed.append(result.response)
    if failed:
        from bridge.cli.report import complain_of_responses

        complain_of_responses(failed)
    codes.discard(Exit.OK)
    return (codes or {Exit.OK}).pop() if len(codes) <= 1 else Exit.FAILED
