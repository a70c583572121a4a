"""Have a task validated, and wait for the verdict: in an open session, or here.

What was begun by somebody else, over MCP or in a run, is waited for and not repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack

from bridge.api.hosts import Hosts
from bridge.api.model_support import check_here
from bridge.api.request_builder import draft
from bridge.api.submission import Submitter
from bridge.api.task_tools import call_tool
from bridge.api.wait import Waiter, cancel
from bridge.errors import CannotWaitHere
from bridge.protocol.ids import RequestId
from bridge.protocol.status import Stage, ignore
from bridge.protocol.wording import in_shell
from bridge.routes import OWN

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.protocol.outcome import Progress
    from bridge.store.store import Store
    from bridge.tasks.task import Holder
    from bridge.tasks.validation import Asked


class Validation:
    """One look at a task, on behalf of whoever waits for it."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        holder: Holder,
        *,
        route: str = "auto",
        on_stage: Callable[[Stage], None] = ignore,
        on_progress: Callable[[Progress], None] = ignore,
    ) -> None:
        self._submitter = Submitter(store, settings)
        self._holder = holder
        self._route = route
        self._on_stage = on_stage
        self._on_progress = on_progress
        # What this has asked itself: its to end.
        self._asked: RequestId | None = None

    def validate(self, ref: str, *, summary: str = "") -> dict[str, Any]:
        """Have a task looked at; what `get_validation_status` returns at the end.

        Raises:
            NoHost, NoRoute: nobody could look at it; nothing has begun.
            CannotWaitHere: it has begun, but the only session would wait for itself.
            BridgeError: as the tool `validate_task`.
        """
        given = {"task_id": ref, "changes_summary": summary}
        begun = self._call("validate_task", given)
        if begun["requestId"] is not None:
            try:
                self._wait(RequestId(begun["requestId"]))
            except CannotWaitHere:
                raise
            except BaseException:
                if self._asked is not None:
                    cancel(self._submitter.store, self._asked)
                raise
        found: dict[str, Any] = self._call("get_validation_status", {"task_id": ref})
        return found

    def _call(self, name: str, given: dict[str, Any]) -> Any:
        store, settings = self._submitter.store, self._submitter.settings
        return call_tool(
            store, settings, name, given, holder=self._holder, start=self._start
        )

    def _start(self, **asked: Unpack[Asked]) -> str:
        """Ask, if there is somebody to answer."""
        settings = self._submitter.settings
        given = {name: asked[name] for name in ("task_id", "dedup_key")}
        with self._submitter.opened() as store:
            begun = draft(
                store, settings, asked["prompt"], asked["agent"], asked["schema"], given
            )
            planned = begun.plan(self._route)
            request = begun.on(planned.route)
            hosts = Hosts(store, settings)
            if planned.own:
                definition = begun.definition_on(planned.own)
                check_here(planned.own, request, definition, settings)
            if hosts.is_off or not (planned.own or hosts.of(request)):
                raise hosts.none_for(request, routes=begun.own_routes)
            deadline_s = store.clock.monotonic_s() + request.timeout / 1000
            submitted = self._submitter.make_durable(
                store, request, (planned.route,), deadline_s, fan_out=begun.fan_out
            )
        if submitted.is_new:
            self._asked = submitted.request_id
        return submitted.request_id

    def _wait(self, request_id: RequestId) -> None:
        store = self._submitter.store
        found = store.find(request_id)
        request = found.request if found else None
        if found is None or request is None or found.response is not None:
            return
        left_s = max(0.0, (request.deadline_ms - store.now_ms()) / 1000)
        settings, worker = self._submitter.settings, None
        if request.route in OWN:
            from bridge.worker.executors import open_worker

            worker = open_worker(
                store,
                settings,
                request.route,
                on_stage=self._on_stage,
                on_progress=self._on_progress,
            )
        else:
            shown = in_shell("hostbridge", "task", "validate", request.task_id)
            way = f"Read the verdict with: {shown}"
            Hosts(store, settings).refuse_to_wait(request, "submitted", way, request_id)
        waiter = Waiter(store, on_stage=self._on_stage)
        waiter.to_its_end(request_id, left_s, worker)
