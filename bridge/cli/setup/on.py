"""Go on after `hostbridge off`: in this project, or in one session.

Refused inside a Claude Code session: its model must not undo what its user did.

For example:
  hostbridge on
  hostbridge on && hostbridge status
"""

from argparse import Namespace
from pathlib import Path

from bridge.api.bridge import Bridge
from bridge.bound.session_above import only_by_hand
from bridge.cli.common.options import ONE_SESSION
from bridge.cli.common.output import complain, tell
from bridge.config import Settings
from bridge.store.sessions import live_sessions, open_session
from bridge.store.switch import switch_on, switched_off

OPTIONS = (ONE_SESSION,)


def command(options: Namespace) -> None:
    """Switch on and say so."""
    session = options.session
    bridge = Bridge(Settings.from_environment(), Path())
    which = open_session(bridge.store, session) if session else None
    live = live_sessions(bridge.store)
    only_by_hand(bridge.settings, bridge.store, "hostbridge on")
    place = f"session {which.session_id}" if which else str(bridge.store.place.owner)
    was = "" if switch_on(bridge.store, which) else " (it was not off)"
    tell(f"on in {place}{was}")
    off = switched_off(bridge.store)
    if session and off.is_everything:
        complain("every session of the project is off; `hostbridge on` turns them on")
    for each in () if session else live:
        if each.session_id in off:
            name = each.session_id
            command = f"hostbridge on --session {name}"
            complain(f"session {name} is still off by itself; `{command}` turns it on")
    if bridge.settings.off:
        complain("BRIDGE_OFF is set in this shell: what is started here stays off")
