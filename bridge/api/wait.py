"""Wait for requests until they end or the waiter's own deadline comes; cancel them."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from bridge.api.result import Result, result_of
from bridge.api.upkeep import TEND_S, Tender, complaint_of, late_response, stage_of
from bridge.errors import StateUnavailable, StateVanished, WaitTimeout
from bridge.protocol.ids import RequestId, check_id
from bridge.protocol.request import Request
from bridge.protocol.response import Response, failed
from bridge.protocol.status import Stage, ignore
from bridge.protocol.wording import seconds
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.protocol.outcome import Progress
    from bridge.worker.worker import Worker


# The least space that a file takes on a disk.
_A_BLOCK = 4096
# How many requests a message names.
_NAMED = 3
# How often to check whether a request of somebody else waits again: upkeep takes it
# back from a dead process first.
_TRY_AGAIN_S = 1.25 * TEND_S
# The shortest pause, for clocks that do not quite agree.
_MOMENT_S = 0.02


class Waiter:
    """Waits for requests, and looks after them.

    Args:
        store: one that does not wait long for its lock: the deadline matters more.
        on_stage: called with the stage of a request.
        on_progress: is told what a request waits for.
    """

    def __init__(
        self,
        store: Store,
        *,
        on_stage: Callable[[Stage], None],
        on_progress: Callable[[Progress], None] = ignore,
    ) -> None:
        self._store = store
        self._on_stage = on_stage
        self._on_progress = on_progress

    def _tender(self, ids: set[RequestId]) -> Tender:
        tend = Tender(
            self._store, ids, on_stage=self._on_stage, on_progress=self._on_progress
        )
        tend.begin()
        return tend

    def to_its_end(
        self,
        request_id: RequestId,
        timeout_s: float,
        worker: Worker | None = None,
        *,
        after_s: float = 0.0,
    ) -> Response:
        """The response of one request, which ends when the time is up.

        It is served by `worker`, if there is one, and nobody else takes it.
        """
        try:
            if worker is None:
                return self.one(request_id, timeout_s)
            return self.one_or_serve(
                request_id, worker, after_s=after_s, timeout_s=timeout_s
            )
        except WaitTimeout as exc:
            return self.expire(request_id, Stage(str(exc.stage)))

    def one(self, request_id: RequestId, timeout_s: float) -> Response:
        """The response of one request.

        Raises:
            WaitTimeout: `timeout_s` seconds passed; the request is left as it was.
        """
        tend = self._tender({request_id})
        found = self._store.wait([request_id], timeout_s=timeout_s, tend=tend)
        for response in found:
            return response
        raise self.late([request_id], timeout_s)

    def one_or_serve(
        self, request_id: RequestId, worker: Worker, *, after_s: float, timeout_s: float
    ) -> Response:
        """The response of one request, served by `worker` if nobody else takes it.

        Others have `after_s` seconds to take it. The claim decides who serves it.

        Raises:
            WaitTimeout: `timeout_s` seconds passed; the request is left as it was.
            StateVanished: the request is gone, with its state directory.
        """
        clock = self._store.clock
        until_s = clock.monotonic_s() + timeout_s
        pause_s = after_s
        while True:
            left_s = max(0.0, until_s - clock.monotonic_s())
            if pause_s or not left_s:
                try:
                    return self.one(request_id, min(pause_s, left_s))
                except WaitTimeout:
                    if clock.monotonic_s() >= until_s:
                        raise
            try:
                worker.serve(request_id, until_s=until_s)
            except StateVanished:
                raise
            except StateUnavailable:
                # It waits again, for as long as its caller does.
                pass
            found = self._store.find(request_id)
            if found is None:
                # The directory is new, and empty.
                raise StateVanished(
                    f"request {request_id} has vanished: {self._store.place.state} was "
                    "removed while it was served"
                )
            if found.response is not None:
                return found.response
            pause_s = self._pause_s(found.request)

    def _pause_s(self, request: Request | None) -> float:
        """When to try again to serve a request that waits, or that somebody holds."""
        due_ms = request.due_ms if request and request.claim is None else None
        if due_ms is None:
            return _TRY_AGAIN_S
        left_s = (due_ms - self._store.now_ms()) / 1000
        return min(max(left_s, _MOMENT_S), _TRY_AGAIN_S)

    def many(
        self, ids: set[RequestId], form: object, timeout_s: float
    ) -> Iterator[Result[Any]]:
        """Yield a result for each request as it ends, and take it out of `ids`.

        Raises:
            WaitTimeout: `timeout_s` seconds passed before the last one.
        """
        tend = self._tender(ids)
        for response in self._store.wait(ids, timeout_s=timeout_s, tend=tend):
            ids.discard(check_id(response.request_id))
            yield result_of(response, form)
        if ids:
            raise self.late(sorted(ids), timeout_s)

    def expire(self, request_id: RequestId, stage: Stage) -> Response:
        """End a request whose caller's time is up, unless it has just ended.

        Raises:
            UnknownRequest: it was removed meanwhile.
            WaitTimeout: that cannot be written now.
        """
        found = self._store.find(request_id)
        if found is not None and found.request is not None and found.response is None:
            late = late_response(self._store, found.request, stage)
            try:
                self._store.publish(late, source="asker")
            except StateUnavailable as exc:
                why = late.error and late.error.message
                raise WaitTimeout(
                    f"request {request_id}: {why}; it could not be ended: {exc.what}",
                    ways=exc.ways,
                    stage=str(stage),
                    request_id=request_id,
                ) from None
            found = self._store.find(request_id)
        if found is None or found.response is None:
            raise self._store.unknown(request_id)
        return found.response

    def late(self, ids: list[RequestId], timeout_s: float) -> WaitTimeout:
        """The error for requests that did not end within `timeout_s` seconds."""
        found = self._store.find(ids[0])
        stage = stage_of(self._store, found)
        request = found.request if found else None
        why = complaint_of(self._store, request, stage)
        stood = _tried_before(request, stage) or stage.at_the_end
        more = f" (and {len(ids) - 1} more)" if len(ids) > 1 else ""
        named = " ".join(ids[:_NAMED]) + (" …" if ids[_NAMED:] else "")
        return WaitTimeout(
            f"request {ids[0]}{more}: no answer within {seconds(timeout_s)}: "
            f"{stood}{self._trouble()}{why and f'; {why}'}. It goes on",
            ways=(
                f"wait again: hostbridge wait {named}",
                f"or end it: hostbridge cancel {named}",
            ),
            stage=str(stage),
            request_id=ids[0],
        )

    def _trouble(self) -> str:
        """What prevents any answer from being written, if anything."""
        with self._store.state(make=False) as state:
            disk = os.statvfs(state.directory.fd)
        if disk.f_flag & os.ST_RDONLY:
            why = errno.EROFS
        elif disk.f_bavail * disk.f_frsize < _A_BLOCK:
            why = errno.ENOSPC
        else:
            return ""
        return (
            f"; no answer can be written: {self._store.place.state}: "
            f"{os.strerror(why)}; see `hostbridge doctor`"
        )


def _tried_before(request: Request | None, stage: Stage) -> str:
    """How a request stands that somebody of ours had taken; empty for any other."""
    if request is None or request.route == "host" or not request.failures:
        return ""
    if stage is not Stage.WAITING:
        return ""
    # Late, as few requests are tried again.
    from bridge.protocol.retries import tries_words

    return f"{tries_words(request)}; `hostbridge serve` goes on with it"


def cancel(store: Store, request_id: RequestId) -> bool:
    """Cancel a request; False if it had ended, or does not exist.

    A running agent is stopped at its next tool call. `store` is one that does not wait
    long for its lock: the caller is about to leave.
    """
    request = store.find_unfinished(request_id)
    if request is None:
        return False
    why = "cancelled by its user"
    response = failed(request, "cancelled", why, now_ms=store.now_ms())
    return store.publish(response, source="cancel")
