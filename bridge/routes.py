"""The routes by name, here and nowhere else: a session's, and those we can serve.

Messages list them in this order.
"""

from typing import Literal, get_args

from bridge.errors import InvalidRequest

OwnRoute = Literal["claude", "local", "endpoint", "remote"]
# That one only passes on: another machine answers, by a route of its own.
REMOTE = "remote"
OWN: tuple[OwnRoute, ...] = get_args(OwnRoute)
# Who may answer: an open session, or a process that the asker starts.
RouteName = Literal["host", OwnRoute]


def check_own(route: str, option: str = "route") -> OwnRoute:
    """Return a route that a process of ours can serve.

    Raises:
        InvalidRequest: there is no such route; names `option`, which asked for it.
    """
    for known in OWN:
        if route == known:
            return known
    raise InvalidRequest(f"{option} {route!r}: expected one of {', '.join(OWN)}")
