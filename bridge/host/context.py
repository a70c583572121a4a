"""What a handler gets: one event, the session it came from, and the store."""

from typing import NamedTuple

from bridge.config import Settings
from bridge.host.events import HookEvent
from bridge.store import Claimant
from bridge.store.sessions import Session
from bridge.store.store import Store


class HookContext(NamedTuple):
    """One event in its surroundings."""

    settings: Settings
    store: Store
    event: HookEvent
    session: Session
    # When what failed here may be tried again, in milliseconds since 1970.
    due: list[int]

    @property
    def claimant(self) -> Claimant:
        """The claimant when this session claims."""
        return Claimant(self.session.session_id, self.session.host)

    @property
    def agents_folder(self) -> str:
        """Where the gate keeps its notes on our agents, with a slash at the end."""
        return f"{self.store.place.state}/agents/"

    def now_ms(self) -> int:
        """The wall clock, milliseconds since 1970."""
        return self.store.now_ms()
