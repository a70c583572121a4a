"""Ask and wait: choose the route, submit the request, and see it to its end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge.api.hosts import Hosts
from bridge.api.model_support import check_here
from bridge.api.options import AskOptions, checked
from bridge.api.questions import Replier
from bridge.api.request_builder import draft
from bridge.api.request_draft import Draft
from bridge.api.routing import RoutePlan
from bridge.api.submission import Submitter
from bridge.config import Settings
from bridge.errors import BridgeError, StateUnavailable, WaitTimeout
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.protocol.status import ignore
from bridge.routes import OwnRoute
from bridge.store import Submitted
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.worker.worker import Worker


_CALLBACKS = {"on_stage", "on_progress", "on_question"}


class _CallbackRaised(BaseException):
    """What a callback raised; nothing on its way takes it for a failure of its own."""

    def __init__(self, raised: Exception) -> None:
        super().__init__(raised)
        self.raised = raised


def _marked(callback: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def call(news: Any) -> Any:
        try:
            return callback(news)
        except Exception as exc:  # noqa: BLE001 - it is the caller's
            raise _CallbackRaised(exc) from None

    return call


class Asker(Submitter):
    """Asks one question on behalf of a program, and waits.

    `quick` is the same store, for steps that must not wait long for its lock.
    """

    def __init__(self, store: Store, settings: Settings, quick: Store) -> None:
        super().__init__(store, settings)
        self.quick = quick
        self._asked: RequestId | None = None
        # Whether the response is an earlier answer, which still holds.
        self.is_cached = False
        self._replier: Replier | None = None

    def ask(
        self, prompt: str, agent: str, schema: object, options: AskOptions
    ) -> Response:
        """Ask and wait for the end of the request; raises as `Bridge.ask`.

        The response may be a failure.
        """
        given = checked("ask", options)
        callbacks = {name: _marked(given[name]) for name in _CALLBACKS & given.keys()}
        if on_question := callbacks.pop("on_question", None):
            given.setdefault("may_ask", True)
            self._replier = Replier(self.quick, self.settings, on_question)
            then = callbacks.get("on_stage", ignore)
            # What it replies may be of another form: that is its caller's mistake, too.
            callbacks["on_stage"] = _marked(self._replier.before(then))
        try:
            return self._ask(prompt, agent, schema, given | callbacks)
        except BridgeError:
            raise
        except BaseException as exc:
            # An interrupt, or a callback that raises: nobody wants the answer any more.
            ended = exc.raised if isinstance(exc, _CallbackRaised) else exc
            # With `--json` the command line says which request it was.
            vars(ended)["request_id"] = self._asked
            from bridge.api.wait import cancel

            if self._asked is not None and cancel(self.quick, self._asked):
                ended.add_note(f"cancelled {self._asked}")
            if ended is exc:
                raise
        raise ended

    def _ask(
        self, prompt: str, agent: str, schema: object, given: dict[str, Any]
    ) -> Response:
        fallback_after_s = given.get("fallback_after_s")
        with self.opened() as store:
            hosts = Hosts(store, self.settings)
            begun = draft(store, self.settings, prompt, agent, schema, given)
            planned = begun.plan(
                given.get("route", "auto"),
                given.get("mode"),
                fallback=given.get("fallback"),
                fallback_after_s=fallback_after_s,
                has_host=fallback_after_s is not None
                and hosts.can_answer(begun.request, within_s=fallback_after_s),
            )
            request = begun.on(planned.route)
            # By its own id: one found by its key belongs to another caller.
            self._asked = RequestId(request.request_id)
            own = planned.own
            routes = {planned.route, own or planned.route}
            if fallback_after_s is not None:
                # It is the same question whether or not a session is open.
                routes.add("host")
            if planned.route == "host" and own:
                request = request.with_(falls_back_to=own)
            # An existing answer needs neither a session nor a wait.
            known = store.answer_of_key(request, routes=routes)
            deadline_s = store.clock.monotonic_s() + request.timeout / 1000
            if known is None and given.get("cached"):
                from bridge.api.earlier_answer import find_answer

                # The agent needs the rest.
                half_s = deadline_s - request.timeout / 1000 / 2
                known = find_answer(store, begun, planned, until_s=half_s)
                self.is_cached = known is not None
            if known is not None:
                return known
            if own:
                check_here(own, begun.on(own), begun.definition_on(own), self.settings)
            if hosts.is_off or not (own or hosts.of(request)):
                raise hosts.none_for(request, routes=begun.own_routes)
            worker = own and self._worker(begun, own, deadline_s, given)
            submitted = self.make_durable(
                store, request, routes, deadline_s, fan_out=begun.fan_out
            )
            if worker is None:
                known_as = submitted.request_id
                way = f"Read the answer with: hostbridge show {known_as}"
                hosts.refuse_to_wait(request, "submitted", way, known_as)
        if planned.own != "local" or not submitted.is_new:
            from bridge.llama.preload import end_ahead

            end_ahead()
        return self._wait(request, submitted, planned, worker, deadline_s, given)

    def _wait(
        self,
        request: Request,
        submitted: Submitted,
        planned: RoutePlan,
        worker: Worker | None,
        deadline_s: float,
        given: dict[str, Any],
    ) -> Response:
        """Wait for the end of the request, and serve it if nobody else does."""
        from bridge.api.wait import Waiter

        waiter = Waiter(
            self.quick,
            on_stage=given.get("on_stage", ignore),
            on_progress=given.get("on_progress", ignore),
        )
        request_id, is_new = submitted.request_id, submitted.is_new
        if self._replier:
            self._replier.ids.add(request_id)
        left_s = max(0.0, deadline_s - self.store.clock.monotonic_s())
        timeout_s = request.timeout / 1000
        try:
            after_s = planned.after_s
            if is_new:
                return waiter.to_its_end(request_id, left_s, worker, after_s=after_s)
            if worker and self._is_for(worker, request_id):
                return waiter.one_or_serve(
                    request_id, worker, after_s=after_s, timeout_s=left_s
                )
            return waiter.one(request_id, left_s)
        except WaitTimeout:
            if is_new:
                raise
            # Another caller's request, found by its key: not ours to end.
            raise waiter.late([request_id], timeout_s) from None
        except BaseException:
            if worker and not is_new:
                # Another caller's: somebody else may serve it.
                with suppress(StateUnavailable):
                    self.quick.give_back(request_id, worker.claimant.host)
            raise

    def _worker(
        self, begun: Draft, route: OwnRoute, deadline_s: float, given: dict[str, Any]
    ) -> Worker:
        from bridge.worker.executors import open_worker

        return open_worker(
            self.store.until(deadline_s),
            self.settings,
            route,
            define=begun.define,
            find_above=lambda *_: begun.above,
            on_stage=given.get("on_stage", ignore),
            on_progress=given.get("on_progress", ignore),
        )

    def _is_for(self, worker: Worker, request_id: RequestId) -> bool:
        """Whether a request found by its key is for this worker's route, too."""
        found = self.store.find(request_id)
        return bool(found and found.request and found.request.route == worker.route)
