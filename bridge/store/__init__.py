"""The state directory: requests, claims and responses, and every way they may change.

`store.Store` is what everybody else uses.
"""

from typing import Literal, NamedTuple, TypeAlias

from bridge.protocol.claim import HostProcess
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.protocol.status import Status
from bridge.routes import RouteName

# What a claimer decides about a request: take it, leave it for another time, pass it
# over for good (it is not for this claimer), or end it with this response.
Verdict: TypeAlias = "Literal['take', 'leave', 'pass'] | Response"


class Claimant(NamedTuple):
    """Who claims: a session and the process it lives in, and for which route.

    On a route other than the host's both are the serving process.
    """

    session: str
    host: HostProcess
    route: RouteName = "host"


class Submitted(NamedTuple):
    """What became of a submit; not `is_new` when a dedup key found an earlier one."""

    request_id: RequestId
    is_new: bool


class Found(NamedTuple):
    """One request as it stands now."""

    status: Status
    request: Request | None
    response: Response | None
