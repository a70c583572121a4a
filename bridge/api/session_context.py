"""Whose conversation is meant by `context="session"`, and whether it may be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.api.hosts import Hosts
from bridge.bound import forks
from bridge.bound.session_above import only_by_hand
from bridge.errors import InvalidRequest

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.protocol.request import Request
    from bridge.routes import RouteName
    from bridge.store.store import Store

COMMAND = "hostbridge ask --context session"


def checked(
    store: Store, settings: Settings, request: Request, route: RouteName
) -> Request:
    """A request for a fork, its definition applied, for the one session that is meant.

    Raises:
        InsideSession: a model of a session could be the one that asks.
        NotShared: the user has not said yes.
        NoHost: no session that could take it is open.
        InvalidRequest: several are, and none is named; its conversation was cleared, or
            is of another project; or the route has none; or the request wants what no
            fork has.
    """
    named = request.with_(route=route)
    if route != "host":
        forks.check_route(named)
    only_by_hand(settings, store, COMMAND)
    forks.check(request, settings, store.place)
    if route != "host":
        forks.check_closed(named, settings, store.place)
        return request
    hosts = Hosts(store, settings)
    able = hosts.of(request)
    if not able:
        raise hosts.none_for(request, can_be_left=False)
    forks.check_one({session.session_id for session in able})
    session_id = able[0].session_id
    if request.session not in (None, session_id):
        raise InvalidRequest(
            f"the conversation of session {request.session} was cleared; the session "
            f"goes on as {session_id}: --session {session_id}"
        )
    return request.with_(session=session_id)
