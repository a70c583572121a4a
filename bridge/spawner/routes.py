"""Which route a request takes, and where none is open: every way out, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from bridge.errors import InvalidRequest, NoHost
from bridge.host import agent_names, sessions
from bridge.protocol.status import Stage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bridge.host.sessions import Session
    from bridge.protocol.request import Request
    from bridge.store.files import FileStore

RouteChoice = Literal["auto", "host"]
# Each route, and what tells the models it can be asked to use from any other name.
ROUTES: dict[RouteChoice, Callable[[str], None]] = {
    "auto": agent_names.check_model,
    "host": agent_names.check_model,
}


def check_route(route: str, model: str | None) -> None:
    """Let a route pass that exists, with a model that it knows; None is its own.

    Raises:
        InvalidRequest: no such route, or it knows no such model.
    """
    for name, check_model in ROUTES.items():
        if name == route:
            if model is not None:
                check_model(model)
            return
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


_LATER = "leave it for a later session: `hostbridge submit --timeout 86400`"


def no_host(
    store: FileStore, request: Request, *, lease_s: float, is_off_here: bool
) -> NoHost:
    """The error for a request that no live session could take.

    `is_off_here` is whether the environment of who asks says so (`BRIDGE_OFF`).
    """
    if is_off_here:
        why, ways = _off_by("BRIDGE_OFF is set", "unset BRIDGE_OFF")
    elif sessions.is_off(store):
        why, ways = _off_by("`hostbridge off`", "`hostbridge on`")
    else:
        live = sessions.live_sessions(store, lease_s=lease_s)
        why, ways = _cause(store.place.project, request, live)
    return NoHost(f"{why}. Ways out: {'; '.join(ways)}", stage=str(Stage.NO_HOST))


def _off_by(cause: str, cure: str) -> tuple[str, tuple[str, ...]]:
    return f"the bridge is switched off here ({cause})", (cure, _LATER)


def _cause(
    project: Path, request: Request, live: list[Session]
) -> tuple[str, tuple[str, ...]]:
    """Why none of the live sessions could take a request, and the ways out."""
    meant = [session for session in live if may_take(session, request)]
    if meant:
        on = " or ".join(f"`hostbridge on --session {s.session_id}`" for s in meant)
        return "the bridge is switched off in every session that could take it", (
            on,
            _LATER,
        )
    if request.session is not None:
        known = ", ".join(s.session_id for s in live) or "none"
        return (
            f"session {request.session!r} is not open in {project} (open: {known})",
            (
                "ask without naming a session",
                f"open it again: `claude --resume {request.session}`",
                _LATER,
            ),
        )
    return f"no Claude Code session with hostbridge is open in {project}", (
        f"start `claude` in {project} (after `hostbridge install`)",
        _LATER,
        "see what is wrong with `hostbridge doctor`",
    )
