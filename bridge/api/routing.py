"""Which route a request takes: an open session, or the caller's own process."""

from typing import Literal, NamedTuple, TypedDict, Unpack, get_args

from bridge.api.model_support import check_model
from bridge.errors import InvalidRequest
from bridge.protocol.request import Request
from bridge.routes import OWN, REMOTE, OwnRoute, RouteName, check_own

RouteChoice = Literal["auto", RouteName]
ROUTES: tuple[RouteChoice, ...] = get_args(RouteChoice)


def check_route(route: str) -> RouteChoice:
    """Check that a route exists.

    Raises:
        InvalidRequest: there is no such route.
    """
    for known in ROUTES:
        if route == known:
            return known
    raise InvalidRequest(f"route {route!r}: expected one of {', '.join(ROUTES)}")


class RoutePlan(NamedTuple):
    """The route that an ask starts on, and when this process serves it.

    `own` is the route on which this process serves it, None for never; `after_s` is how
    many seconds a host has before that.
    """

    route: RouteName
    own: OwnRoute | None = None
    after_s: float = 0.0


class Fallback(TypedDict, total=False):
    """What becomes of a request that no session takes.

    Attributes:
        fallback: the route to fall back to; by default the usual one.
        fallback_after_s: after how many seconds.
        has_host: whether a live session could answer.
    """

    fallback: str | None
    fallback_after_s: float | None
    has_host: bool


def plan(
    route: str,
    *,
    flag: OwnRoute | None = None,
    accepted: tuple[RouteName, ...] | None = None,
    **given: Unpack[Fallback],
) -> RoutePlan:
    """Decide on a route, given the chosen one. Pure.

    `flag` is the route of what names none, such as the value of `BRIDGE_CLI_FALLBACK`;
    `accepted` are the routes that the agent's definition takes, the preferred one
    first; None for any.

    Raises:
        InvalidRequest: there is no such route; `fallback_after_s` is no time; or there
            is nothing to fall back from, or to.
    """
    choice = check_route(route)
    fallback, fallback_after_s = given.get("fallback"), given.get("fallback_after_s")
    own = flag if fallback is None else check_own(fallback, "fallback")
    if fallback_after_s is not None:
        own = _fallback(choice, own, fallback_after_s)
        if choice == "auto" and not given.get("has_host"):
            return RoutePlan(own, own)
        return RoutePlan("host", own, fallback_after_s)
    if fallback is not None:
        raise InvalidRequest(
            f"fallback {fallback!r} needs fallback_after_s: how many seconds an open "
            "session has first"
        )
    if choice == "auto":
        if accepted and (flag or "host") not in (*accepted, REMOTE):
            # This is not a silent fallback: the definition says so.
            flag = next((r for r in OWN if r == accepted[0]), None)
        return RoutePlan(flag, flag) if flag else RoutePlan("host")
    return RoutePlan(choice) if choice == "host" else RoutePlan(choice, choice)


def _fallback(
    choice: RouteChoice, own: OwnRoute | None, fallback_after_s: float
) -> OwnRoute:
    """The route to fall back to; never one that nobody named."""
    if choice not in ("auto", "host"):
        raise InvalidRequest(
            f"route {choice!r} is served here at once; fallback_after_s belongs to the "
            "routes auto and host"
        )
    if not 0 <= fallback_after_s < float("inf"):
        raise InvalidRequest(
            f"fallback_after_s {fallback_after_s:g}: expected seconds, 0 or more"
        )
    if own is None:
        raise InvalidRequest(
            f"fallback_after_s needs fallback, the route to fall back to: one of "
            f"{', '.join(OWN)}; or set BRIDGE_CLI_FALLBACK"
        )
    return own


def on_route(
    request: Request, route: RouteName, *, is_model_asked: bool = True
) -> Request:
    """The request, made for this route.

    `is_model_asked` says whether the caller named the model, and not the definition.

    Raises:
        InvalidRequest: it is for one session, and the route has none; or the route
            knows no such model.
    """
    is_for_session = request.context_from is None and request.session is not None
    if is_for_session and route != "host":
        raise InvalidRequest(
            f"session {request.session!r} cannot take what route {route!r} is to "
            "serve; name the session or the route, not both"
        )
    if request.model is not None:
        check_model(route, request.model, is_asked=is_model_asked)
    return request.with_(route=route)
