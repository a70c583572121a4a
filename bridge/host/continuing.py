"""Ask an agent that has answered its next question, in the same conversation.

Three ways lead here. A request may continue another one (`ask --continue ID`): then it
goes to that agent or fails, never silently to one that knows nothing. Or the agent's
definition says `reuse`: then it goes to an idle agent of the same kind in the session
that takes it, or to a new one if there is none.

The model is asked to call SendMessage, with the token of the request for its message;
PreToolUse swaps that for the whole prompt. An agent that has asked something back goes
on in the same way with the reply; where it cannot any more, a new one is asked, with
question and reply. From then on it is a launch like any other
(`bridge.host.launch`): the run of the agent serves the new request, until it ends.

Source: measured on Claude Code 2.1.330. The client fills in `summary`. PostToolUse
comes before SubagentStart, with `resumedAgentId`; of an agent that is gone it says
`success: false`, and one that still ends gets the message later, and then a notice that
names no call. An agent that was ended by a hook, stopped, or whose model failed can be
asked again; after `/clear` it has forgotten everything.
"""

from collections.abc import Iterable
from contextlib import suppress

from bridge.config import Settings
from bridge.errors import StateUnavailable
from bridge.host.context import HookContext
from bridge.host.request_tokens import agent_call, message_call
from bridge.policy.tool_classes import MESSAGE
from bridge.protocol.failure_codes import explain
from bridge.protocol.hook_output import HookOutput, deny
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.protocol.response import Response, failed
from bridge.store import Verdict, idle_agents, subagent_runs
from bridge.store.clock import uptime
from bridge.store.idle_agents import IdleAgent
from bridge.store.switch import is_off

# The notice of an end mostly comes at once; without one nobody waits longer.
_TOLD_WITHIN_MS = 10_000
_GONE = "the session that holds its agent has ended, was cleared, or has let it go"


def is_wanted(request: Request) -> bool:
    """Whether an agent that has answered, or asked, may, or must, be asked."""
    is_for_one = request.continues is not None or bool(request.exchanges)
    return is_for_one or request.reuse is not None


def verdict(hook: HookContext, request: Request) -> Verdict:
    """What this session does about a waiting request that is for one agent."""
    own = _own(hook, request)
    if own is not None and own.host != hook.session.host:
        return "pass"
    if own is not None:
        return "leave" if _still_ends(hook, own) else "take"
    if request.continues is None:
        return "take"
    idle, why = _meant(hook, request)
    if why:
        return _refused(hook, request, why)
    if idle is None or idle.host != hook.session.host:
        # Of another session, whose process lives.
        return "pass"
    # It has answered; the client has not said yet that it is done with it.
    return "leave" if _is_busy(hook, idle, request) else "take"


def joined(hook: HookContext, requests: Iterable[Request]) -> list[Request]:
    """The claimed requests that are to be offered, those with their agents that have.

    One whose agent cannot be asked any more ends here.
    """
    found = []
    for request in requests:
        offered: Request | None = request
        if is_wanted(request):
            offered = None
            # It is looked at again when it is offered again.
            with suppress(StateUnavailable):
                offered = _joined(hook, request)
        if offered is not None:
            found.append(offered)
    return found


def _joined(hook: HookContext, request: Request) -> Request | None:
    """The request with the agent that it is for; None if it has ended instead."""
    claim = request.claim
    if claim is None:
        return request
    if claim.continued is not None:
        idle = _idle(hook, claim.continued.agent_id)
        if idle is not None and idle.next_question() == claim.continued:
            return request
        if request.continues is None:
            return released(hook, request)
    own = _own(hook, request)
    if own is not None and (mine := _reserve(hook, own, request)):
        return mine
    if request.continues is None:
        return _with_any(hook, request) if request.reuse else request
    idle, why = _meant(hook, request)
    if not why and idle is not None:
        mine = _reserve(hook, idle, request)
        if mine is not None:
            return mine
        why = "it was asked something else meanwhile"
    end(hook, request, why or _GONE)
    return None


def _with_any(hook: HookContext, request: Request) -> Request:
    """The request with an idle agent of its kind, if there is one: that is no must."""
    reuse = request.reuse
    assert reuse is not None, "asked for by its definition"  # noqa: S101
    project = str(hook.store.place.project)
    now = uptime(hook.store.clock)
    most, most_age_ms = limits(hook.settings)
    most = min(most, reuse.questions or most)
    most_age_ms = min(most_age_ms, most_age_ms if reuse.age is None else reuse.age)
    with suppress(StateUnavailable):
        with hook.store.state() as state:
            known = idle_agents.all_idle(state)
        for idle in sorted(known, key=lambda i: i.age_ms(now)):
            if (
                _is_here(hook, idle)
                and idle_agents.is_of_kind(idle, request, project)
                and not idle_agents.why_spent(
                    idle, now, most_questions=most, most_age_ms=most_age_ms
                )
                and not _is_busy(hook, idle, request)
                and (mine := _reserve(hook, idle, request))
            ):
                return mine
    return request


def _own(hook: HookContext, request: Request) -> IdleAgent | None:
    """The agent that has asked, and waits to go on; None if there is none any more."""
    if not request.exchanges:
        return None
    with hook.store.state() as state:
        own = idle_agents.find_after(state, request.request_id)
        if own is None or idle_agents.is_gone(state, own):
            return None
    if own.session in request.declined_by or is_off(hook.store, own.session):
        return None
    is_elsewhere = own.host != hook.session.host
    return own if is_elsewhere or _is_here(hook, own) else None


def _still_ends(hook: HookContext, own: IdleAgent) -> bool:
    """Whether the client has still to tell of the end of an agent that has asked."""
    run = subagent_runs.find_agent(hook.store, own.agent_id)
    since = None if run is None else run.ended_at
    return since is not None and 0 <= hook.now_ms() - since < _TOLD_WITHIN_MS


def _idle(hook: HookContext, agent_id: str) -> IdleAgent | None:
    with hook.store.state() as state:
        return idle_agents.find(state, agent_id)


def _reserve(hook: HookContext, idle: IdleAgent, request: Request) -> Request | None:
    with hook.store.state() as state:
        return idle_agents.reserve(state, idle, request)


def limits(settings: Settings) -> tuple[int, int]:
    """How many questions an agent may answer, and for how many ms it may wait."""
    return settings.continue_questions, settings.continue_age * 1000


def _meant(hook: HookContext, request: Request) -> tuple[IdleAgent | None, str]:
    """The agent that a request is for, and why it cannot be asked here."""
    continues = request.continues
    with hook.store.state() as state:
        idle = idle_agents.find_after(state, continues or "")
        if idle is None or idle_agents.is_gone(state, idle):
            return None, _GONE
        taken_by = idle_agents.reserved(state, idle.agent_id, request.request_id)
    if idle.host != hook.session.host:
        return idle, ""
    if not _is_here(hook, idle):
        return None, _GONE
    if taken_by:
        return None, f"it is asked {taken_by} already"
    now = uptime(hook.store.clock)
    most, most_age_ms = limits(hook.settings)
    return idle, idle_agents.why_spent(
        idle, now, most_questions=most, most_age_ms=most_age_ms
    )


def _is_here(hook: HookContext, idle: IdleAgent) -> bool:
    """Whether an agent belongs to this session, and not to what it was before."""
    return idle.host == hook.session.host and idle.session == hook.session.session_id


def _is_busy(hook: HookContext, idle: IdleAgent, request: Request) -> bool:
    """Whether an agent is at work, or the client may still tell of its last end."""
    run = subagent_runs.find_agent(hook.store, idle.agent_id)
    # Its own: a hook was killed while it sent the message.
    return run is not None and run.request_id != request.request_id


def released(hook: HookContext, request: Request) -> Request | None:
    """A request that need not continue anything, for a new agent."""
    return hook.store.change_claim(
        RequestId(request.request_id),
        hook.session.host,
        lambda claim: claim.with_(continued=None),
    )


def _refused(hook: HookContext, request: Request, why: str) -> Response:
    message = explain("cannot_continue", why)
    return failed(request, "cannot_continue", message, now_ms=hook.now_ms())


def end(hook: HookContext, request: Request, why: str) -> None:
    """End a request whose agent cannot be asked."""
    hook.store.publish(_refused(hook, request, why), source="continue")


def agreed(hook: HookContext, request: Request) -> Request | HookOutput:
    """The request, if this call starts its agent in the way that was offered."""
    is_message = hook.event.tool == MESSAGE
    if is_wanted(request) and (is_message or request.continues or request.exchanges):
        # Called for before it was offered; or the hook that offered it was killed.
        again = _joined(hook, request)
        if again is None:
            return deny(_cannot_run(request))
        request = again
    request_id = request.request_id
    continued = request.claim.continued if request.claim else None
    if not is_message:
        if continued is None:
            return request
        if request.continues is None:
            return released(hook, request) or deny(_cannot_run(request))
        call = message_call(request_id, continued.agent_id)
        return deny(f"hostbridge: call SendMessage once with this instead:\n{call}")
    if continued is None:
        call = agent_call(request_id)
        return deny(f"hostbridge: call Agent once with this instead:\n{call}")
    idle = _idle(hook, continued.agent_id)
    if idle is None or _is_busy(hook, idle, request) or not _is_here(hook, idle):
        return _instead(hook, request, _GONE if idle is None else "it is at work")
    return request


def checked(hook: HookContext, request: Request) -> HookOutput | None:
    """Why an agent cannot be asked this, its definition applied; None if it can."""
    continued = request.claim.continued if request.claim else None
    if continued is None:
        return None
    idle = _idle(hook, continued.agent_id)
    project = str(hook.store.place.project)
    why = _GONE if idle is None else idle_agents.why_unlike(idle, request, project)
    return _instead(hook, request, why) if why else None


def _instead(hook: HookContext, request: Request, why: str) -> HookOutput:
    """The agent cannot be asked: a new one is, unless it had to be this one."""
    if request.continues is not None:
        end(hook, request, why)
        return deny(_cannot_run(request))
    released(hook, request)
    call = agent_call(request.request_id)
    return deny(f"hostbridge: call Agent once with this instead:\n{call}")


def _cannot_run(request: Request) -> str:
    return f"hostbridge: request {request.request_id} cannot run. Go on."
