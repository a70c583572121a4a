"""Continue an answered request: check that its agent can be asked, before anything is.

The agent is one of an open session, which alone has its conversation. Whatever has
changed since makes the question another one: then it is refused, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bridge.config import Settings
from bridge.errors import CannotContinue, InvalidRequest
from bridge.host.continuing import limits
from bridge.protocol.ids import RequestId, check_id
from bridge.protocol.names import GENERAL
from bridge.store import idle_agents
from bridge.store.clock import uptime
from bridge.store.idle_agents import IdleAgent
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.protocol.request import Request
    from bridge.routes import RouteName

_ANEW = "ask anew, without --continue"


def earlier_request(store: Store, continues: str) -> Request:
    """The answered request that is to be continued.

    Raises:
        UnknownRequest: there is no such request.
        CannotContinue: it has no valid answer, or not one of an open session's agent.
    """
    request_id = check_id(continues)
    found = store.find(request_id)
    if found is None:
        raise store.unknown(request_id)
    request, response = found.request, found.response
    if response is None:
        raise _refusal(
            request_id, "has not been answered yet", f"hostbridge wait {request_id}"
        )
    if response.parsed_output is None:
        code = response.error.code if response.error else response.status
        raise _refusal(request_id, f"has no valid answer ({code})")
    if response.route != "host":
        raise _refusal(
            request_id,
            f"was answered on route {response.route}, which keeps no conversation; "
            "only an agent of an open session can be asked again",
        )
    if request is None:
        raise _refusal(request_id, "is no longer on record")
    if request.context_from is not None:
        raise _refusal(
            request_id, "was answered by a fork of a session, which is asked only once"
        )
    if request.is_temporary:
        raise _refusal(request_id, "was asked by a flow, whose own agent ends with it")
    return request


def filled_from(
    store: Store, agent: str, fields: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The agent and the fields of a request that continues another one.

    What is left open is as it was there; but not variables, which may be rights.

    Raises:
        InvalidRequest: another route is to answer it if need be.
        UnknownRequest, CannotContinue: as `earlier_request`.
    """
    continues = options["continues"]
    if options.get("fallback_after_s") is not None:
        raise InvalidRequest(
            f"request {continues} can be continued by its agent only, so there is "
            "nothing to fall back to; leave fallback_after_s out"
        )
    earlier = earlier_request(store, continues)
    open_ = {
        "model": earlier.model,
        "answer_schema": earlier.answer_schema,
        "arguments": earlier.arguments or None,
        "workflow": earlier.workflow,
    }
    same = {name: value for name, value in open_.items() if value is not None}
    return (earlier.agent_type if agent == GENERAL else agent), same | dict(fields)


def checked(
    store: Store, settings: Settings, request: Request, route: RouteName
) -> Request:
    """A request that continues another one, for the session that holds the agent.

    Raises:
        CannotContinue: the agent is gone, spent, at work, or of another kind.
    """
    request_id = RequestId(request.continues or "")
    if route != "host":
        raise _refusal(
            request_id,
            f"cannot be continued on route {route}; its agent is in an open session",
        )
    with store.state(make=False) as state:
        idle = idle_agents.find_after(state, request_id)
        is_there = idle is not None and not idle_agents.is_gone(state, idle)
        later = None if is_there else _later(state, request_id)
        asked = idle and idle_agents.reserved(state, idle.agent_id)
    if later is not None:
        raise _refusal(
            request_id,
            f"is not the last one that its agent answered: that is {later.request_id}",
            f"--continue {later.request_id}",
        )
    if idle is None or not is_there:
        raise _refusal(
            request_id,
            "is over: the session that holds its agent has ended, was cleared, or has "
            "let it go, or the agent is at work on another question",
        )
    if asked:
        raise _refusal(
            request_id,
            f"is being continued already, by {asked}",
            f"hostbridge wait {asked}",
        )
    most, most_age_ms = limits(settings)
    now = uptime(store.clock)
    project = str(store.place.project)
    if spent := idle_agents.why_spent(
        idle, now, most_questions=most, most_age_ms=most_age_ms
    ):
        raise _refusal(
            request_id,
            f"cannot be continued: its agent is spent: {spent} (continue_questions, "
            "continue_age)",
        )
    if unlike := idle_agents.why_unlike(idle, request, project):
        raise _refusal(request_id, f"was of another kind: {unlike}")
    return request.with_(session=idle.session)


def _later(state: Any, request_id: str) -> IdleAgent | None:
    """The agent of a request, if it has answered others since."""
    ended = state.response(request_id)
    agent = ended.agent_id if ended else None
    return next((i for i in idle_agents.all_idle(state) if i.agent_id == agent), None)


def _refusal(request_id: RequestId, why: str, way: str = "") -> CannotContinue:
    return CannotContinue(
        f"request {request_id} {why}",
        ways=tuple(filter(None, (way, _ANEW))),
        request_id=request_id,
    )
