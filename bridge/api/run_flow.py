"""Begin runs of flows, and go on with them."""

from __future__ import annotations

from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bridge.agents.trust import refuse_unless_by_hand
from bridge.agents.workflow_choice import workflow_settings
from bridge.api.compiled_runs import compiled
from bridge.api.follow_run import Follower
from bridge.api.hosts import Hosts
from bridge.api.model_support import check_here
from bridge.api.options import checked
from bridge.api.request_builder import draft
from bridge.api.routing import plan as plan_route
from bridge.api.run_needs import check_needs
from bridge.bound.session_above import open_clients
from bridge.change.change import Change
from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.begin import begin
from bridge.engine.inputs import params_of
from bridge.engine.view import view
from bridge.errors import InvalidRequest
from bridge.host.calling_agent import asking_process
from bridge.protocol.names import GENERAL
from bridge.protocol.type_checks import check

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.api.flow_result import FlowResult
    from bridge.api.run_options import RunOptions
    from bridge.config import Settings
    from bridge.flow.plan import Plan
    from bridge.host.calling_agent import RequestOrigin
    from bridge.routes import OwnRoute, RouteName
    from bridge.store.sessions import Session
    from bridge.store.store import Store

# Fields of a request that all requests of a run have from whoever began it.
_ASKERS = (
    "requester", "asker", "parent_request_id", "traceparent", "depth", "variables",
)  # fmt: skip
_SHOWN_NAME = 40
_BY_HAND = frozenset({"max_agents", "max_tokens", "timeout_s", "on_failure"})


class Runner(Follower):
    """Runs flows on behalf of a program.

    `asking` is the model that asks, if it is not this process; `otherwise` is how to
    ask without a session.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        quick: Store,
        *,
        asking: RequestOrigin | None = None,
        session: Session | None = None,
        otherwise: str | None = None,
    ) -> None:
        super().__init__(store, settings, quick, session=session)
        self.asking = asking
        self.otherwise = otherwise

    @cached_property
    def usual(self) -> OwnRoute | None:
        """The route of what names none: that of the agent that asks, if it has one."""
        asking = self.asking or asking_process(self.store, self.settings)
        return asking.route or self.settings.cli_fallback

    def run(
        self, flow: str | Path, params: Mapping[str, Any], options: RunOptions
    ) -> FlowResult:
        """Begin a run, and see it to its end; raises as `Bridge.run`."""
        given = checked("run", options)
        check(flow=flow, params=params)
        return self.follow(self.begin(flow, params, given), given)

    def begin(
        self, flow: str | Path, params: Mapping[str, Any], given: Mapping[str, Any]
    ) -> str:
        """Check a flow, and write its run; nothing is asked yet."""
        place, for_model = self.store.place, self.asking is not None
        plan, file = compiled(
            self.settings, place.project, flow, params, for_model=for_model
        )
        # What is given wrong is said before who is missing.
        params = self._with_tasks(plan, params_of(plan, params))
        return self.begin_plan(plan, given, params=params, source=file)

    def begin_plan(
        self,
        plan: Plan,
        given: Mapping[str, Any],
        *,
        params: Mapping[str, Any] = MappingProxyType({}),
        source: str = "",
    ) -> str:
        """Check who is asked in a plan, and write its run; nothing is asked yet."""
        route = plan_route(given.get("route", "auto"), flag=self.usual).route
        ask, fan_out = self._checked(plan, route, given)
        timeout_s = given.get("timeout_s")
        now_ms = self.store.now_ms()
        with self.store.state() as state:
            return begin(
                state,
                plan,
                params=params,
                ask=ask,
                agents=given.get("max_agents"),
                tokens=given.get("max_tokens"),
                until=None if timeout_s is None else now_ms + int(timeout_s * 1000),
                policy=given.get("on_failure", "abort"),
                fan_out=fan_out,
                source=source,
                settings=workflow_settings(self.settings),
            )

    def _with_tasks(self, plan: Plan, params: dict[str, Any]) -> dict[str, Any]:
        """Parameters with each task by its number, such as `#42`.

        Raises:
            UnknownTask, InvalidRequest: there is no such task.
        """
        inputs = plan.get("inputs", {})
        for name, value in params.items():
            if value is not None and inputs.get(name, {}).get("type") == "task":
                from bridge.tasks.tasks import Tasks

                params[name] = Tasks(self.store).get(value).ref
        return params

    def resume(self, run_id: str, options: RunOptions) -> FlowResult:
        """Go on with a run, and see it to its end; raises as `Bridge.resume`."""
        given = checked("run", options)
        check(run=run_id)
        timeout_s = given.get("timeout_s")
        until = timeout_s and self.store.now_ms() + int(timeout_s * 1000)
        status = view(self.store, run_id).run["status"]
        if status == "running" and self._fails_now(run_id):
            status = "failed"
        if status != "running":
            if status != "failed" or given.keys() & _BY_HAND:
                # Its user has stopped it, or bounded it: no model may undo that.
                clients = open_clients(self.settings, self.store)
                refuse_unless_by_hand(self.settings, clients, "hostbridge run --resume")
            act = partial(
                by_hand.resume,
                agents=given.get("max_agents"),
                tokens=given.get("max_tokens"),
                until=until or None,
                policy=given.get("on_failure"),
            )
            try:
                advance(self.store, self.settings, run_id, act)
            except InvalidRequest:
                # Unless somebody else has it go on already.
                if view(self.store, run_id).run["status"] != "running":
                    raise
        return self.follow(run_id, given)

    def _fails_now(self, run_id: str) -> bool:
        """Whether it had failed, and nobody has seen that yet.

        If who served it was killed too often, for one: its person wants it to go on.
        """
        self.store.sweep()
        return self.look(run_id).run["status"] == "failed"

    def _checked(
        self, plan: Plan, route: RouteName, given: Mapping[str, Any]
    ) -> tuple[dict[str, Any], int]:
        """See that all agents could be asked; what is the same in every request.

        A run that asks no agent needs no session.
        """
        options = {
            "session": given.get("session"),
            "timeout_s": given.get("step_timeout_s"),
        }
        hosts = Hosts(self.store, self.settings)
        plans = [plan, *plan["flows"].values()]
        details = [
            d for each in plans for d in each["details"].values() if "agent" in d
        ]
        nobody = (GENERAL, None, False)
        asked = {(d["agent"], d.get("model"), "context" in d) for d in details}
        drafts = []
        for agent, model, is_shown in sorted(asked or {nobody}, key=str):
            chosen = {k: v for k, v in options.items() if v is not None}
            chosen |= {"model": model} if model else {}
            # What it is shown is not known yet.
            chosen |= {"change": Change("")} if is_shown else {}
            begun = draft(
                self.store, self.settings, "?", agent, None, chosen, self.asking
            )
            drafts.append((begun, begun.on(route)))
        known = (begun.definition_on(route) for begun, _ in drafts)
        place = self.store.place
        check_needs(self.settings, place, plan, route, filter(None, known))
        for begun, request in drafts:
            needs_host = bool(details) and route == "host"
            if hosts.is_off or (needs_host and not hosts.of(request)):
                takes = [set(each.own_routes) for each, _ in drafts]
                raise hosts.none_for(
                    request,
                    can_be_left=False,
                    otherwise=self.otherwise,
                    routes=set.intersection(*takes),
                )
            if route != "host":
                check_here(route, request, begun.definition_on(route), self.settings)
        if route != "host":
            # What this machine lacks is said before anything is written.
            self.worker(route)
        ask = {name: getattr(begun.request, name) for name in _ASKERS}
        name = plan["name"] or "a flow"
        ask["requester"] = f"flow {name}"[:_SHOWN_NAME]
        ask |= {"route": route}
        if options["timeout_s"] is not None:
            ask["timeout"] = begun.request.timeout
        if options["session"] is not None:
            ask["session"] = options["session"]
        if given.get("wait_quota") is False:
            ask["wait_quota"] = False
        return {k: v for k, v in ask.items() if v is not None}, begun.fan_out
