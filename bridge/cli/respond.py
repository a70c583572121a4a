"""Answer a request by hand, from a file or from stdin.

The form of the words is checked as an agent's would be; of a person no proof is asked.
The answer is marked `route: manual`. A request that a host is working on cannot be
answered so: cancel it first, or wait.
"""

import os
from pathlib import Path
from typing import Annotated

import typer

from bridge.api.bridge import Bridge
from bridge.cli.inputs import read_words
from bridge.cli.options import AsJson, Id
from bridge.cli.output import record, say, say_json
from bridge.errors import InvalidRequest


def command(
    request_id: Id,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE|-",
            show_default=False,
            help="Where the answer is; stdin without it.",
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Respond and say so."""
    bridge = Bridge.open()
    bridge.status(request_id)
    result = bridge.respond(request_id, _answer(file))
    if as_json:
        say_json(record(result.response))
    else:
        say(f"answered {result.request_id}")


def _answer(file: Path | None) -> str:
    """The words; a file that is not there may have been meant to be them."""
    try:
        return read_words(file, "the answer")
    except InvalidRequest as exc:
        if file is None or os.path.exists(file):
            raise
        raise InvalidRequest(
            f"{exc} (an answer itself goes to stdin, which `-` reads, too)"
        ) from None
