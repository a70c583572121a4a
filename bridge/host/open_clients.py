"""The clients with open sessions: what a person alone may do is refused below them."""

from contextlib import suppress

from bridge.config import Settings
from bridge.errors import BridgeError
from bridge.host.pins import Pins
from bridge.store.sessions import live_sessions
from bridge.store.store import Store


def open_clients(settings: Settings, store: Store) -> set[int]:
    """The processes of all open sessions of this user, whatever their project."""
    found: set[int] = set()
    # Another state directory in the environment does not hide the usual one.
    for guard in {settings.home, settings.state_dir or settings.home}:
        found |= Pins(guard).clients()
    with suppress(BridgeError, OSError):
        found |= {session.host.pid for session in live_sessions(store)}
    return found
