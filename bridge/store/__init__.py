"""The state directory: requests, claims and responses, and every way they may change.

`Store` is the life of a request: asked, found, claimed, answered, waited for, removed.
`files.FileStore` keeps it in files, and is what most of hostbridge asks for, because
other records lie in the same directory: sessions, bells and runs of the host route, the
sign of life of a serving process, the switch. `FileStore.open_state` and `rooms` give
their folders, held open, and `exclusive` the lock under which they change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from bridge.protocol.ids import RequestId
    from bridge.protocol.request import Claim, HostProcess, Request, RouteName
    from bridge.protocol.response import Response
    from bridge.protocol.status import Status
    from bridge.store.prune import Pruned

# What a claimer says of a request: take it, leave it for another time, pass it over for
# good (it is not for this claimer, whatever comes), or end it with this response.
Verdict: TypeAlias = "Literal['take', 'leave', 'pass'] | Response"


@dataclass(frozen=True, slots=True)
class Claimant:
    """Who claims: a session and the process it lives in, and for which route.

    On a route other than the host's both are the serving process.
    """

    session: str
    host: HostProcess
    route: RouteName = "host"


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of a submit; not `is_new` when a dedup key found an earlier one."""

    request_id: RequestId
    is_new: bool


@dataclass(frozen=True, slots=True)
class Found:
    """One request as it stands now."""

    status: Status
    request: Request | None
    response: Response | None


class Store(Protocol):
    """Where requests live. Every method is safe to kill at any point.

    Any of them raises `StateUnavailable` where the state cannot be used just now (its
    subclass `StateVanished` where it is gone) and `StateRefused` where it is not safe
    to.
    """

    def submit(self, request: Request, *, routes: Collection[str] = ()) -> Submitted:
        """Make a request durable and visible, whole.

        Where its dedup key stands for another that asks the same, that one counts;
        `routes` are those whose answer would do, by default the request's own.
        """

    def find(self, request_id: RequestId) -> Found | None:
        """Return the request as it stands; None when there is none."""

    def waiting(self) -> list[RequestId]:
        """Ids nobody has taken, in the order in which they would be."""

    def has_waiting(self) -> bool:
        """Whether anything waits."""

    def claimed(self) -> list[Request]:
        """Requests that somebody holds, oldest claim first."""

    def claim(
        self,
        claimant: Claimant,
        slots: int,
        judge: Callable[[Request], Verdict],
        *,
        only: RequestId | None = None,
        on_cut: Callable[[], None] = ...,
    ) -> list[Request]:
        """Take waiting requests that `judge` says to take, into free slots."""

    def claim_one(self, request_id: RequestId, claimant: Claimant) -> Request | None:
        """Take this very request; None when it does not wait (any more)."""

    def change_claim(
        self,
        request_id: RequestId,
        host: HostProcess,
        change: Callable[[Claim], Claim],
        *,
        event: str | None = None,
    ) -> Request | None:
        """Change the claim that `host` has; None when it has none (any more)."""

    def change_held(
        self,
        request_id: RequestId,
        host: HostProcess,
        change: Callable[[Request], Request],
        *,
        event: str | None = None,
    ) -> Request | None:
        """Change the request that `host` holds; None when it holds it not."""

    def give_back(
        self,
        request_id: RequestId,
        host: HostProcess,
        change: Callable[[Request], Request],
    ) -> bool:
        """Let a request that `host` holds wait again; False when it holds it not."""

    def publish(self, response: Response, *, source: str) -> bool:
        """End a request. The first response wins; any other is kept as evidence."""

    def keep_evidence(
        self, request_id: str, *, reason: str, source: str, words: str
    ) -> None:
        """Keep words that did not become the answer."""

    def evidence(self, request_id: RequestId) -> list[dict[str, Any]]:
        """What was kept for a request, oldest first."""

    def sweep(
        self, *, everything: bool = False, waiting: Iterable[RequestId] = ()
    ) -> int:
        """Take back what dead hosts held, end what is overdue; how many changed."""

    def prune(
        self, *, older_than_days: float | None = None, max_bytes: int | None = None
    ) -> Pruned:
        """Remove what has ended, by age and by size."""

    def wait(
        self,
        ids: Iterable[RequestId],
        *,
        timeout_s: float,
        tend: Callable[[], None] = ...,
    ) -> Iterator[Response]:
        """Yield responses as they come, until the deadline."""
