"""Answer a request by hand, from a file or from stdin.

The form of the answer is checked like an agent's; a person needs no evidence. The
answer is marked `route: manual`. A request that a session is working on cannot be
answered by hand: cancel it first, or wait. Inside a Claude Code session it is refused:
its model would answer for others, such as a validator of what it wrote.

For example:
  id=$(hostbridge submit "Is it Friday?")
  echo '{"status": "success", "summary": "yes"}' |
    hostbridge respond "$id"
"""

import os
from argparse import Namespace
from pathlib import Path

from bridge.api.bridge import Bridge
from bridge.bound.session_above import only_by_hand
from bridge.cli.common.inputs import read_words
from bridge.cli.common.options import AS_JSON, ID, option
from bridge.cli.common.output import record, say_result
from bridge.cli.common.which_request import which
from bridge.errors import InvalidRequest

OPTIONS = (
    ID,
    option(
        "file",
        metavar="FILE|-",
        nargs="?",
        type=Path,
        help="The file with the answer; stdin by default.",
    ),
    AS_JSON,
)


def command(options: Namespace) -> None:
    """Respond and say so."""
    bridge = Bridge.open()
    only_by_hand(bridge.settings, bridge.store, "hostbridge respond")
    request_id = which(bridge, options.request_id)
    bridge.status(request_id)
    result = bridge.respond(request_id, _answer(options.file))
    said = f"answered {result.request_id}"
    say_result(options, record(result.response), said)


def _answer(file: Path | None) -> str:
    """The answer; a hint if it was typed where the file's name belongs."""
    try:
        return read_words(file, "the answer")
    except InvalidRequest as exc:
        if file is None or os.path.exists(file):
            raise
        raise InvalidRequest(
            f"{exc} (an answer itself goes to stdin, which `-` reads, too)"
        ) from None
