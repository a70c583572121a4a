"""Which session may take which request: one rule for callers and for offers.

With two rules, a request could wait for a session that never takes it, and its caller
would wait in vain.
"""

from collections.abc import Iterable

from bridge.protocol.request import Request
from bridge.store.sessions import Session
from bridge.store.store import Store
from bridge.store.switch import switched_off


def may_take(session: Session, request: Request) -> bool:
    """Whether a request is for this session, and not declined by it."""
    is_meant = request.session is None or request.session in session.ids
    return (
        request.route == "host"
        and is_meant
        and not session.ids & set(request.declined_by)
    )


def eligible(
    store: Store, sessions: Iterable[Session], request: Request
) -> list[Session]:
    """The sessions that may take the request and are not switched off."""
    meant = [session for session in sessions if may_take(session, request)]
    off = switched_off(store) if meant else ()
    return [session for session in meant if session.session_id not in off]
