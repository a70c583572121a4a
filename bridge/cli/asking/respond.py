"""The older spelling of `hostbridge reply` for an answer by hand, from a file or stdin.

It goes in the next version.

For example:
  id=$(hostbridge submit "Is it Friday?")
  echo '{"status": "success", "summary": "yes"}' |
    hostbridge respond "$id"
"""

import os
from argparse import Namespace
from pathlib import Path

from bridge.api.bridge import Bridge
from bridge.cli.asking.question_prompt import only_by_a_person
from bridge.cli.asking.reply import respond
from bridge.cli.common.inputs import read_words
from bridge.cli.common.options import AS_JSON, ID, option
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
    only_by_a_person(bridge)
    request_id = which(bridge, options.request_id)
    bridge.status(request_id)
    respond(bridge, options, request_id, _answer(options.file))


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
