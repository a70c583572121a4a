"""Stop everything at once: in this project, or in one session.

No more requests are offered. Running agents are stopped at their next tool call.
Requests wait until `hostbridge on`, or their deadline. Refused inside a Claude Code
session: rules end with it, and its model must not end what binds it.

For example:
  hostbridge off
  hostbridge off && hostbridge status
"""

from argparse import Namespace
from pathlib import Path

from bridge.api.bridge import Bridge
from bridge.bound.session_above import only_outside_sessions
from bridge.cli.common.options import ONE_SESSION
from bridge.cli.common.output import span, tell
from bridge.config import Settings
from bridge.store.sessions import open_session
from bridge.store.switch import switch_off, switched_off

OPTIONS = (ONE_SESSION,)


def command(options: Namespace) -> None:
    """Switch off and say what that means."""
    session = options.session
    # Whatever a config.toml says, or fails to say: this must work.
    bridge = Bridge(Settings.from_environment(), Path())
    which = open_session(bridge.store, session) if session else None
    only_outside_sessions(bridge.settings, bridge.store, "hostbridge off")
    name = which.session_id if which else ""
    since_s = switched_off(bridge.store).age_s(bridge.store.now_ms(), name)
    switch_off(bridge.store, which)
    if which:
        place = f"session {name} only; the others of {bridge.store.place.owner} go on"
    else:
        place = f"{bridge.store.place.owner}, in every session"
    was = "" if since_s is None else f" (it was off, for {span(since_s)})"
    command = f"hostbridge on --session {name}" if which else "hostbridge on"
    tell(
        f"off in {place}{was}: running agents are stopped at their next tool call, "
        f"requests wait. `{command}` turns it on again"
    )
