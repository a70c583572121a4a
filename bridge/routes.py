"""The routes that a process of ours can serve, by name: here and nowhere else.

The route `host`, an open session's, is not among them. Messages list them in this
order.
"""

from typing import Literal, get_args

from bridge.errors import InvalidRequest

OwnRoute = Literal["claude", "local", "endpoint"]
OWN: tuple[OwnRoute, ...] = get_args(OwnRoute)


def check_own(route: str, option: str = "route") -> OwnRoute:
    """Return a route that a process of ours can serve.

    Raises:
        InvalidRequest: there is no such route; names `option`, which asked for it.
    """
    for known in OWN:
        if route == known:
            return known
    raise InvalidRequest(f"{option} {route!r}: expected one of {', '.join(OWN)}")
