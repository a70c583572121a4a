"""The switch: `off` and `sessions/<id>.off` stop the bridge until they are removed."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from bridge.protocol.request import Request
from bridge.store.sessions import Session
from bridge.store.store import Store


class Off:
    """What the user switched off: everything, or some sessions.

    `since` says when, by their ids, in milliseconds since 1970; the id of everything is
    empty.
    """

    def __init__(self, since: Mapping[str, int] = MappingProxyType({})) -> None:
        self.since = since
        self.is_everything = "" in since

    def __contains__(self, session_id: object) -> bool:
        return self.is_everything or session_id in self.since

    def age_s(self, now_ms: int, session_id: str = "") -> float | None:
        """How long ago everything, or this session, was switched off; None if not."""
        at = self.since.get(session_id)
        return None if at is None else max(0.0, (now_ms - at) / 1000)


def switched_off(store: Store) -> Off:
    """What is switched off, found in one look."""
    if not store.exists():
        return Off()
    with store.state() as state:
        folder = state["sessions"]
        marks = {name: folder.facts(f"{name}.off") for name in folder.names(".off")}
        marks[""] = state.directory.facts("off")
        return Off(
            {
                name: facts.st_mtime_ns // 1_000_000
                for name, facts in marks.items()
                if facts is not None
            }
        )


def eligible(
    store: Store, sessions: Iterable[Session], request: Request
) -> list[Session]:
    """The sessions that may take the request and are not switched off."""
    meant = [session for session in sessions if session.may_take(request)]
    off = switched_off(store) if meant else ()
    return [session for session in meant if session.session_id not in off]


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
