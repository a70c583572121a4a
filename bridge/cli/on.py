"""Go on after `hostbridge off`: in this project, or in one session.

Refused inside a Claude Code session: its model must not undo what its user did.

For example:
  hostbridge on
  hostbridge on && hostbridge status
"""

from argparse import Namespace

from bridge.agents.trust import refuse_inside_a_session
from bridge.api.bridge import Bridge
from bridge.cli.options import ONE_SESSION
from bridge.cli.output import complain, say
from bridge.store.sessions import live_sessions, open_session
from bridge.store.switch import is_off, switch_on

OPTIONS = (ONE_SESSION,)


def command(options: Namespace) -> None:
    """Switch on and say so."""
    session = options.session
    bridge = Bridge.open()
    which = open_session(bridge.store, session) if session else None
    live = live_sessions(bridge.store)
    clients = [each.host.pid for each in live]
    refuse_inside_a_session(bridge.settings, clients, "hostbridge on")
    place = f"session {which.session_id}" if which else str(bridge.store.place.owner)
    was = "" if switch_on(bridge.store, which) else " (it was not off)"
    say(f"on in {place}{was}")
    if session and is_off(bridge.store):
        complain("the whole project is off; `hostbridge on` goes on")
    if bridge.settings.off:
        complain("BRIDGE_OFF is set in this shell: what is started here stays off")
