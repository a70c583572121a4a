"""Start an agent for a call: choose its route, make the request, see that it is served.

terminal    an agent of an open session; if the only one is the caller's own, the
            caller must start it, and the result tells it how
headless    a process of its own, started by this server
"""

from dataclasses import dataclass
from typing import Any, Literal

from bridge.api.hosts import Hosts
from bridge.api.model_support import check_here
from bridge.api.options import checked
from bridge.api.project import Project
from bridge.api.request_builder import draft
from bridge.api.submission import Submitter
from bridge.bound.delegation import NotPossible
from bridge.config import Settings
from bridge.errors import CannotContinue, CannotWaitHere
from bridge.host.context import HookContext
from bridge.host.events import HookEvent
from bridge.host.handover import offer_to_caller
from bridge.host.request_tokens import instruction
from bridge.mcp.caller import Caller, check_variables
from bridge.mcp.serving import Serving
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.protocol.status import Stage
from bridge.store import Found
from bridge.store.store import Store
from bridge.store.tool_calls import callers
from bridge.worker.executors import open_worker

Mode = Literal["terminal", "headless", "self"]
# How a tool that has a mode is answered without an open session.
HEADLESS = 'call it again with mode "headless"'


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a call asks for; `options` are those of `Bridge.submit`.

    `otherwise` is how the caller has it answered without an open session.
    """

    prompt: str
    agent: str
    mode: Mode | None
    schema: dict[str, Any] | None
    options: dict[str, Any]
    otherwise: str = HEADLESS


@dataclass(frozen=True, slots=True)
class Started:
    """A request that is on its way; `offer` tells the caller to start its agent."""

    request_id: RequestId
    timeout_s: float
    offer: str | None = None


def start(
    project: Project, caller: Caller, wanted: Wanted, serving: Serving
) -> Started:
    """Make the request, and see that somebody serves it.

    Raises:
        BridgeError: nothing was asked, or the session cannot take it.
    """
    settings = project.settings
    given = checked("submit", wanted.options)
    submitter = Submitter(project.store, settings)
    with submitter.opened() as store:
        check_variables(project, caller, given.get("variables"))
        begun = draft(
            store, settings, wanted.prompt, wanted.agent, wanted.schema, given,
            caller.asking,
        )  # fmt: skip
        route = begun.plan(mode=wanted.mode).route
        request = begun.on(route)
        timeout_s = request.timeout / 1000
        request_id = RequestId(request.request_id)
        same = store.find_same(request, routes=(route,))
        if same is not None and same.request is not None:
            return Started(RequestId(same.request.request_id), timeout_s)
        hosts = Hosts(store, settings)
        if hosts.is_off or (route == "host" and not hosts.of(request)):
            raise hosts.none_for(request, otherwise=wanted.otherwise)
        worker = None
        if route != "host":
            check_here(route, request, begun.definition_on(route), settings)
            worker = open_worker(project.store, settings, route, define=begun.define)
            if caller.session is not None:
                # Its budgets count, whatever our environment says.
                worker.session, worker.charged = caller.session, None
        elif is_own_host(hosts, request, caller):
            return _offered(store, settings, request, caller, wanted, timeout_s)
        deadline_s = store.clock.monotonic_s() + timeout_s
        submitter.make_durable(
            store, request, (route,), deadline_s, fan_out=begun.fan_out
        )
    if worker is not None:
        serving.begin(project, worker, request_id, timeout_s)
    return Started(request_id, timeout_s)


def is_own_host(hosts: Hosts, request: Request, caller: Caller) -> bool:
    """Whether only the session that makes the call could take a request."""
    session = caller.session
    if session is None:
        return hosts.would_wait_for_itself(request)
    if caller.agent_id and not caller.can_start:
        return hosts.would_wait_for_itself(request, session.host.pid)
    return all(host.host == session.host for host in hosts.of(request))


def next_step(project: Project, found: Found, caller: Caller) -> str | None:
    """What a caller must do before it can wait for a request; None: nothing.

    A request that only the caller's own session could take would wait for the caller.
    """
    request = found.request
    if request is None or found.response is not None or request.route != "host":
        return None
    is_open = request.stage in (Stage.WAITING, Stage.OFFERED)
    if not is_open or not is_own_host(project.hosts, request, caller):
        return None
    if caller.session is not None and caller.agent_id:
        # What others have asked is for the main thread, which is free.
        known = callers(project.store, caller.session.session_id)
        if known.get(request.request_id) != caller.agent_id:
            return None
    return instruction([request.request_id])


def _offered(
    store: Store,
    settings: Settings,
    request: Request,
    caller: Caller,
    wanted: Wanted,
    timeout_s: float,
) -> Started:
    """The caller itself must start the agent."""
    request_id = RequestId(request.request_id)
    if caller.session is None or not caller.can_start:
        raise CannotWaitHere(
            "this runs inside the only open session, which cannot take a request while "
            "it waits for this call",
            ways=(wanted.otherwise, "ask from another program"),
        )
    if request.continues is not None and caller.agent_id:
        raise CannotContinue(
            "an agent cannot ask another one again: only the session itself can",
            ways=("ask anew, without `continues`",),
        )
    event = HookEvent({"agent_id": caller.agent_id})
    hook = HookContext(settings, store, event, caller.session, [])
    offered = request.with_(session=caller.session.session_id, answer_to_host=True)
    try:
        offer_to_caller(hook, offered, f"mcp {request_id}")
    except NotPossible:
        # It has ended, and its record says why.
        return Started(request_id, timeout_s)
    agents = _asked_again(store, request)
    return Started(request_id, timeout_s, instruction([request_id], agents))


def _asked_again(store: Store, request: Request) -> dict[str, str]:
    """The agent of a request that continues another one."""
    earlier = store.find(RequestId(request.continues)) if request.continues else None
    agent_id = earlier.response.agent_id if earlier and earlier.response else None
    return {request.request_id: agent_id} if agent_id else {}
