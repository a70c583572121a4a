"""Submit a request: from then on it is on disk."""

from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext

from bridge.api.hosts import Hosts
from bridge.api.model_support import check_schema
from bridge.api.options import SubmitOptions, checked
from bridge.api.request_builder import draft
from bridge.config import Settings
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.routes import RouteName
from bridge.store import Submitted
from bridge.store.cleaning import start_if_due
from bridge.store.lock import LockBusy
from bridge.store.store import Store

# How long `submit`, which waits for no answer, waits for the store.
_MAX_PATIENCE_S = 60


class Submitter:
    """Submits on behalf of a program: its store, and its settings."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings

    def submit(
        self, prompt: str, agent: str, schema: object, options: SubmitOptions
    ) -> RequestId:
        """Ask without waiting; raises as `Bridge.submit`."""
        given = checked("submit", options)
        with self.opened() as store:
            begun = draft(store, self.settings, prompt, agent, schema, given)
            named = given.get("route", "auto"), given.get("mode")
            route = begun.plan(*named, is_served=False).route
            request = begun.on(route)
            check_schema(route, request, begun.definition_on(route))
            # Submitting it after its own deadline would be useless.
            patience_s = min(request.timeout / 1000, _MAX_PATIENCE_S)
            deadline_s = store.clock.monotonic_s() + patience_s
            submitted = self.make_durable(
                store, request, (route,), deadline_s, fan_out=begun.fan_out
            )
            return submitted.request_id

    def opened(self) -> AbstractContextManager[Store]:
        """The store, held open if it exists: a refused ask does not create one."""
        return self.store.open() if self.store.exists() else nullcontext(self.store)

    def make_durable(
        self,
        store: Store,
        request: Request,
        routes: Collection[RouteName],
        deadline_s: float,
        *,
        fan_out: int,
    ) -> Submitted:
        """Write the request, and wake the sessions that may take it.

        With `fan_out` of its asker waiting or running, it is held.

        Raises:
            LockBusy: somebody held the store until the deadline; nothing was asked.
        """
        store = store.until(deadline_s)
        try:
            submitted = store.submit(request, routes=routes, fan_out=fan_out)
        except LockBusy as exc:
            raise LockBusy(f"nothing was asked: {exc}") from None
        if submitted.is_new:
            Hosts(store, self.settings).wake(request)
        start_if_due(store, self.settings)
        return submitted
