"""Ask: settle who is to answer, make the request durable, and see it to its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.api.model_support import check_here, check_schema
from bridge.api.request_builder import draft
from bridge.api.routing import check_route, plan
from bridge.api.upkeep import Abandoned
from bridge.api.wait import Waiter, cancel
from bridge.errors import CannotWaitHere, WaitTimeout
from bridge.llama.preload import end_ahead
from bridge.protocol.ids import RequestId
from bridge.routes import check_own
from bridge.store.lock import LockBusy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from bridge.api.hosts import Hosts
    from bridge.api.request_builder import Question
    from bridge.api.routing import Plan
    from bridge.config import Settings
    from bridge.protocol.executor import Progress
    from bridge.protocol.request import Request, RouteName
    from bridge.protocol.response import Response
    from bridge.protocol.status import Stage
    from bridge.store import Submitted
    from bridge.store.store import Store
    from bridge.worker.worker import Worker


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks what a program wants to know.

    Attributes:
        store: one that may wait for its lock.
        quick: the same, for what has a deadline.
        hosts: the open sessions.
        settings: those of the program.
    """

    store: Store
    quick: Store
    hosts: Hosts
    settings: Settings

    def submit(self, question: Question, route: str) -> RequestId:
        """Ask without waiting; raises as `Bridge.submit`."""
        begun = draft(self.store, self.settings, question)
        planned = plan(
            check_route(route),
            flag=None,
            fallback_after_s=None,
            has_host=False,
            accepted=begun.routes,
        )
        request = begun.on(planned.route)
        check_schema(planned.route, request, begun.definition_on(planned.route))
        # Nobody reads the answer of a request whose time is up.
        until_s = self.store.clock.monotonic_s() + request.timeout / 1000
        store = self.store.until(until_s)
        return self._submit(store, request, (planned.route,)).request_id

    def ask(
        self,
        question: Question,
        route: str,
        *,
        fallback: str | None,
        fallback_after_s: float | None,
        on_stage: Callable[[Stage], None],
        on_progress: Callable[[Progress], None],
    ) -> Response:
        """Ask and wait for the end of the request; raises as `Bridge.ask`.

        Whether it is an answer is for the caller to see.
        """
        choice = check_route(route)
        begun = draft(self.store, self.settings, question)
        planned = plan(
            choice,
            flag=self.settings.cli_fallback,
            fallback=None if fallback is None else check_own(fallback, "fallback"),
            fallback_after_s=fallback_after_s,
            has_host=self.hosts.can_answer(begun.request),
            accepted=begun.routes,
        )
        request = begun.on(planned.route)
        own = planned.own
        routes = {planned.route, own or planned.route}
        if fallback_after_s is not None:
            # Whether a session was open is no part of what is asked.
            routes.add("host")
        # What was answered already needs no session, and nobody to wait for.
        known = self.store.answer_of_key(request, routes=routes)
        if known is not None:
            return known
        if own:
            definition = begun.definition_on(own)
            check_here(own, begun.on(own), definition, self.settings)
        if self.hosts.is_off or not (own or self.hosts.of(request)):
            from bridge.api.ways_out import no_host

            raise no_host(
                self.store,
                request,
                lease_s=self.settings.lease_s,
                is_off_here=self.settings.off,
            )
        return self._see_through(request, planned, routes, on_stage, on_progress)

    def _see_through(
        self,
        request: Request,
        planned: Plan,
        routes: Collection[RouteName],
        on_stage: Callable[[Stage], None],
        on_progress: Callable[[Progress], None],
    ) -> Response:
        """Submit a request and see it to its end; cancel it if its asker gives up."""
        clock = self.store.clock
        timeout_s = request.timeout / 1000
        deadline_s = clock.monotonic_s() + timeout_s
        store = self.store.until(deadline_s)
        worker = self._worker(store, planned, on_stage, on_progress)
        try:
            submitted = self._submit(store, request, routes)
            request_id, is_new = submitted.request_id, submitted.is_new
            if planned.own != "local" or not is_new:
                end_ahead()
            if not worker and self.hosts.would_wait_for_itself(request):
                raise CannotWaitHere(
                    f"submitted {request_id}; this runs inside the only open session, "
                    "which answers when its turn comes. Read the answer with: "
                    f"hostbridge show {request_id}",
                    request_id=request_id,
                )
            lease_s = self.settings.lease_s
            waiter = Waiter(self.quick, lease_s=lease_s, on_stage=on_stage)
            left_s = max(0.0, deadline_s - clock.monotonic_s())
            try:
                if worker and (is_new or self._is_for(worker, request_id)):
                    return waiter.one_or_serve(
                        request_id, worker, after_s=planned.after_s, timeout_s=left_s
                    )
                return waiter.one(request_id, left_s)
            except WaitTimeout as exc:
                if not is_new:
                    # Another asker's request, found by its key: not ours to end.
                    raise waiter.late([request_id], timeout_s) from None
                return waiter.expire(request_id, timeout_s, str(exc.stage))
        except (KeyboardInterrupt, Abandoned):
            # Under its own id: what a key found is another asker's.
            cancel(self.quick, RequestId(request.request_id))
            raise

    def _submit(
        self, store: Store, request: Request, routes: Collection[RouteName]
    ) -> Submitted:
        try:
            submitted = store.submit(request, routes=routes)
        except LockBusy as exc:
            raise LockBusy(f"nothing was asked: {exc}") from None
        if submitted.is_new:
            self.hosts.ring(request)
        return submitted

    def _worker(
        self,
        store: Store,
        planned: Plan,
        on_stage: Callable[[Stage], None],
        on_progress: Callable[[Progress], None],
    ) -> Worker | None:
        if planned.own is None:
            return None
        from bridge.worker.executors import open_worker

        return open_worker(
            store,
            self.settings,
            planned.own,
            on_stage=on_stage,
            on_progress=on_progress,
        )

    def _is_for(self, worker: Worker, request_id: RequestId) -> bool:
        """Whether a request found by its key is for this worker's route, too."""
        found = self.store.find(request_id)
        return bool(found and found.request and found.request.route == worker.route)
