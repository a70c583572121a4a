"""The switch: `off` and `sessions/<id>.off` stop the bridge until they are removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.store.sessions import Session
    from bridge.store.store import Store


@dataclass(frozen=True, slots=True)
class Off:
    """What the user switched off: everything, or these sessions."""

    is_everything: bool
    sessions: frozenset[str]

    def __contains__(self, session_id: object) -> bool:
        return self.is_everything or session_id in self.sessions


def switched_off(store: Store) -> Off:
    """What is switched off, found in one look."""
    if not store.exists():
        return Off(is_everything=False, sessions=frozenset())
    with store.state() as state:
        named = frozenset(state["sessions"].names(".off"))
        return Off(state.directory.has("off"), named)


def is_off(store: Store, session_id: str | None = None) -> bool:
    """Whether the user switched the bridge off, here or for one session."""
    return session_id in switched_off(store)


def switch_off(store: Store, session: Session | None = None) -> None:
    """Stop the bridge, here or in one open session, until `switch_on`."""
    with store.state() as state:
        if session is None:
            state.directory.touch("off")
        else:
            state["sessions"].touch(f"{session.session_id}.off")


def switch_on(store: Store, session: Session | None = None) -> bool:
    """Let the bridge go on; False when it was not switched off."""
    if not store.exists():
        return False
    with store.state() as state:
        if session is None:
            return state.directory.remove("off")
        return state["sessions"].remove(f"{session.session_id}.off")
