"""Which route a request takes, and where none is open: every way out, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from bridge.errors import InvalidRequest, NoHost
from bridge.host import sessions
from bridge.protocol.status import Stage

if TYPE_CHECKING:
    from bridge.host.sessions import Session
    from bridge.protocol.request import Request
    from bridge.store.files import FileStore

RouteChoice = Literal["auto", "host"]
ROUTES: tuple[RouteChoice, ...] = ("auto", "host")


def check_route(route: str) -> None:
    """Let a route pass that exists.

    Raises:
        InvalidRequest: no such route.
    """
    if route not in ROUTES:
        raise InvalidRequest(f"route {route!r}: expected one of {', '.join(ROUTES)}")


def eligible_hosts(
    store: FileStore, request: Request, *, lease_s: float
) -> list[Session]:
    """Live sessions that may take the request."""
    if sessions.is_off(store):
        return []
    return [
        session
        for session in sessions.live_sessions(store, lease_s=lease_s)
        if may_take(session, request) and not sessions.is_off(store, session.session_id)
    ]


def may_take(session: Session, request: Request) -> bool:
    """Whether a request is for this session, and not declined by it."""
    is_meant = request.session is None or request.session in session.ids
    return is_meant and not session.ids & set(request.declined_by)


def no_host(store: FileStore, request: Request, *, lease_s: float) -> NoHost:
    """The error for a request that no live session could take."""
    project = store.place.project
    live = sessions.live_sessions(store, lease_s=lease_s)
    if sessions.is_off(store):
        why = "the bridge is switched off here (`hostbridge on` switches it on)"
    elif request.session is not None and live:
        known = ", ".join(s.session_id for s in live)
        why = f"session {request.session!r} is not open here (open: {known})"
    elif live:
        why = "the bridge is switched off in every open session (`hostbridge on`)"
    else:
        why = f"no Claude Code session with hostbridge is open in {project}"
    return NoHost(
        f"{why}. Ways out: start `claude` in {project} (after `hostbridge install`); "
        "leave it for a later session: `hostbridge submit --timeout 86400`; see what "
        "is wrong with `hostbridge doctor`",
        stage=str(Stage.NO_HOST),
    )
