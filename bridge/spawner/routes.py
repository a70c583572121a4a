"""Which route a request takes, and where none is open: every way out, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bridge.errors import InvalidRequest, NoHost
from bridge.host import sessions
from bridge.protocol.status import Stage

if TYPE_CHECKING:
    from bridge.config import FallbackRoute
    from bridge.host.sessions import Session
    from bridge.protocol.request import Request, RouteName
    from bridge.store.files import FileStore

RouteChoice = Literal["auto", "host", "claude", "local", "endpoint"]
OWN: tuple[FallbackRoute, ...] = ("claude", "local", "endpoint")
ROUTES: tuple[RouteChoice, ...] = ("auto", "host", *OWN)


def check_route(route: str) -> RouteChoice:
    """Let a route pass that exists.

    Raises:
        InvalidRequest: no such route.
    """
    for known in ROUTES:
        if route == known:
            return known
    raise InvalidRequest(f"route {route!r}: expected one of {', '.join(ROUTES)}")


def check_own(route: str) -> RouteName:
    """Let a route pass that a process of ours serves.

    Raises:
        InvalidRequest: no such route.
    """
    for known in OWN:
        if route == known:
            return known
    raise InvalidRequest(f"route {route!r}: expected one of {', '.join(OWN)}")


@dataclass(frozen=True, slots=True)
class Plan:
    """The route that an ask begins on, and when this process serves it.

    `own` is the route on which it does, None for never, `after_s` how many seconds a
    host has before that.
    """

    route: RouteName
    own: RouteName | None = None
    after_s: float = 0.0


def plan(
    choice: RouteChoice,
    *,
    flag: FallbackRoute | None,
    fallback_after_s: float | None,
    has_host: bool,
) -> Plan:
    """Decide on a route. Pure.

    `flag` is what `BRIDGE_CLI_FALLBACK` says, `has_host` whether a live session could
    answer who asks.

    Raises:
        InvalidRequest: `fallback_after_s` is no time, or there is nothing to fall back
            from.
    """
    is_hosts = choice in ("auto", "host")
    if fallback_after_s is not None:
        if not is_hosts:
            raise InvalidRequest(
                f"route {choice!r} is served here at once: fallback_after_s belongs to "
                "auto and host"
            )
        if not 0 <= fallback_after_s < float("inf"):
            raise InvalidRequest(
                f"fallback_after_s {fallback_after_s!r}: expected seconds"
            )
        own = flag or "local"
        if choice == "auto" and not has_host:
            return Plan(own, own)
        return Plan("host", own, fallback_after_s)
    if choice == "auto":
        return Plan(flag, flag) if flag else Plan("host")
    return Plan(choice) if choice == "host" else Plan(choice, choice)


def on_route(request: Request, route: RouteName) -> Request:
    """The request, for those who serve this route.

    Raises:
        InvalidRequest: it is for one session, and the route has none.
    """
    if request.session is not None and route != "host":
        raise InvalidRequest(
            f"session {request.session!r} cannot take what route {route!r} is to serve"
        )
    return request.with_(route=route)


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
    return (
        request.route == "host"
        and is_meant
        and not session.ids & set(request.declined_by)
    )


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
        "leave it for a later session: `hostbridge submit --timeout 86400`; have it "
        "answered here: `--route local` (a local model), `--route claude` (claude -p) "
        "or `--route endpoint`, or BRIDGE_CLI_FALLBACK for every ask; see what is "
        "wrong with `hostbridge doctor`",
        stage=str(Stage.NO_HOST),
    )
