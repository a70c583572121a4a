"""Cancel requests. A running agent is stopped at its next tool call.

--all cancels all that wait or run in this project, after asking on the terminal.

Exit codes: 0 all were cancelled; 1 one had ended before, or does not exist.

For example:
  id=$(hostbridge submit "Never mind")
  hostbridge cancel "$id"
"""

from argparse import Namespace

from bridge.api.bridge import Bridge
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.options import ALL, AS_JSON, IDS, switch
from bridge.cli.common.output import complain, counted, say, say_json
from bridge.cli.common.which_request import chosen
from bridge.cli.screen.terminal import NoTerminal, confirm
from bridge.errors import BridgeError, InvalidRequest

USAGE = "ID...|--all"
OPTIONS = (
    IDS,
    ALL,
    switch("--yes", help="With --all: do not ask."),
    AS_JSON,
)


def command(options: Namespace) -> int:
    """Cancel each; returns the exit code."""
    bridge = Bridge.open()
    as_json = options.as_json
    ids = chosen(bridge, options)
    if options.all and ids and not options.yes:
        _confirm(bridge, ids)
    outcomes = [_cancel(bridge, each, as_json=as_json) for each in ids]
    return Exit.OK if all(outcomes) else Exit.FAILED


def _confirm(bridge: Bridge, ids: list[str]) -> None:
    """Ask before many are cancelled.

    Raises:
        InvalidRequest: nobody agreed.
    """
    what = f"{counted(len(ids), 'request')} of {bridge.store.place.owner}"
    try:
        agreed = confirm(ids, f"Cancel {what}?")
    except NoTerminal:
        raise InvalidRequest(
            f"cancel --all would cancel {what}, and there is no terminal to ask on; "
            "add --yes"
        ) from None
    if not agreed:
        raise InvalidRequest("nothing was cancelled")


def _cancel(bridge: Bridge, request_id: str, *, as_json: bool) -> bool:
    try:
        cancelled = bridge.cancel(request_id)
    except BridgeError as exc:
        complain(exc.what)
        return False
    if not cancelled:
        status = bridge.status(request_id).status
        complain(f"request {request_id} had ended: {status}")
    if as_json:
        say_json({"requestId": request_id, "cancelled": cancelled})
    elif cancelled:
        say(f"cancelled {request_id}")
    return cancelled
