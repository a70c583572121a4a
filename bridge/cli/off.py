"""Stop everything at once: in this project, or in one session.

No more requests are offered. Running agents are stopped at their next tool call.
Requests wait until `hostbridge on`, or their deadline.

For example:
  hostbridge off
  hostbridge off && hostbridge status
"""

from argparse import Namespace
from pathlib import Path

from bridge.api.bridge import Bridge
from bridge.cli.options import ONE_SESSION
from bridge.cli.output import say
from bridge.config import Settings
from bridge.store.sessions import open_session
from bridge.store.switch import switch_off

OPTIONS = (ONE_SESSION,)


def command(options: Namespace) -> None:
    """Switch off and say what that means."""
    session = options.session
    # Whatever a config.toml says, or fails to say: this must work.
    bridge = Bridge(Settings.from_environment(), Path())
    which = open_session(bridge.store, session) if session else None
    switch_off(bridge.store, which)
    place = f"session {which.session_id}" if which else str(bridge.store.place.owner)
    only = f" --session {which.session_id}" if which else ""
    say(
        f"off in {place}: running agents are stopped at their next tool call, "
        f"requests wait. `hostbridge on{only}` goes on"
    )
