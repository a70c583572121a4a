"""Cancel requests. A running agent is stopped at its next tool call.

Exit codes: 0 all were cancelled; 1 one had ended before, or does not exist.

For example:
  id=$(hostbridge submit "Never mind")
  hostbridge cancel "$id"
"""

from argparse import Namespace

from bridge.api.bridge import Bridge
from bridge.cli.exit_codes import Exit
from bridge.cli.options import AS_JSON, IDS
from bridge.cli.output import complain, say, say_json
from bridge.cli.which_request import which
from bridge.errors import BridgeError

OPTIONS = (IDS, AS_JSON)


def command(options: Namespace) -> int:
    """Cancel each; returns the exit code."""
    bridge = Bridge.open()
    as_json = options.as_json
    ids = [which(bridge, each) for each in options.ids]
    outcomes = [_cancel(bridge, each, as_json=as_json) for each in ids]
    return Exit.OK if all(outcomes) else Exit.FAILED


def _cancel(bridge: Bridge, request_id: str, *, as_json: bool) -> bool:
    try:
        cancelled = bridge.cancel(request_id)
    except BridgeError as exc:
        complain(str(exc))
        return False
    if not cancelled:
        status = bridge.status(request_id).status
        complain(f"request {request_id} had ended: {status}")
    if as_json:
        say_json({"requestId": request_id, "cancelled": cancelled})
    elif cancelled:
        say(f"cancelled {request_id}")
    return cancelled
