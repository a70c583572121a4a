"""Launch the agent of a request: turn the call that names it into the real call.

The whole input is replaced: the client fails a call whose rewritten input is partial.
State is durable before the rewrite is printed.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.agents.agent_names import LAYERS
from bridge.agents.apply import filled_in, resolve
from bridge.agents.known_agents import Agents
from bridge.agents.registry import Registry
from bridge.bound import forks
from bridge.bound.agent_limits import agents_above, check_rule_set, limits_of
from bridge.errors import BridgeError, StateUnavailable
from bridge.host import limits, request_tokens
from bridge.host.budget_news import with_news
from bridge.host.context import HookContext
from bridge.host.continuing import agreed, checked
from bridge.host.offers import judge_for, note_taken_up
from bridge.protocol.claim import Continued
from bridge.protocol.contract import prompt_digest, prompt_for
from bridge.protocol.failure_codes import code_of
from bridge.protocol.hook_output import HookOutput, allow, deny
from bridge.protocol.ids import RequestId
from bridge.protocol.names import CARRIER, CLIENT_MODELS
from bridge.protocol.record import LATEST_MS
from bridge.protocol.request import Request
from bridge.protocol.response import failed
from bridge.protocol.status import Status
from bridge.protocol.wording import one_line
from bridge.store import idle_agents, sessions, subagent_runs
from bridge.store.charges import note_no_launch
from bridge.store.clock import uptime
from bridge.store.location import check_folder
from bridge.store.pins import Pins
from bridge.store.subagent_runs import AgentRun
from bridge.store.tool_calls import callers

if TYPE_CHECKING:
    from bridge.agents.definition import Definition

_SOFT_SHARE = 0.15


def launch(hook: HookContext, request: Request, status: Status) -> HookOutput:
    """Fill in a call that names a request, unless no agent is needed for it."""
    request_id = RequestId(request.request_id)
    agreed_to = _agreed(hook, request, status)
    if isinstance(agreed_to, HookOutput):
        return agreed_to
    try:
        ready = _ready(hook, agreed_to)
    except BridgeError as exc:
        return _unusable(hook, request_id, exc)
    request, definition = ready.request, ready.definition
    if (unlike := checked(hook, request)) is not None:
        return unlike
    now_ms = hook.now_ms()
    continued = request.claim.continued if request.claim else None
    answer_by = _answer_by(request, now_ms)
    monotonic_s = hook.store.clock.monotonic_s
    run = AgentRun(
        request_id=request_id,
        tool_use_id=hook.event.tool_use_id,
        session=hook.session.session_id,
        host=hook.session.host,
        depth=request.depth,
        launched_at=now_ms,
        answer_by=answer_by,
        answer_at=max(0, int(monotonic_s() * 1000) + answer_by - now_ms),
        prompt_sha256=prompt_digest(prompt_for(request)),
        answer_to_host=request.answer_to_host,
        folder=ready.folder,
        parent=hook.event.agent_id,
        variables=request.variables,
        above=agents_above(hook.store, request),
        workflow=ready.workflow,
        is_fork=request.context_from is not None,
        model=hook.session.model,
        **_limits_of(request, definition),
        **_continuing(hook, continued),
    )
    # First: a launch that is not noted could not be completed.
    subagent_runs.note_call(hook.store, run)
    if continued is None:
        # After another call no hook waits: its answer comes as the client's notice.
        _note_wait(hook, request)
    # Before it counts as launched: in between it would count nowhere.
    left_ms = max(0, request.deadline_ms - now_ms)
    sessions.note_launch(hook.store, hook.session, run.tool_use_id, left_ms=left_ms)
    pins = Pins(hook.store.place.guard)
    pins.note_agents(hook.session.session_id, hook.session.host)

    def launched(held: Request) -> Request:
        claim = held.claim
        if claim is None or claim.launched_at is not None:
            return held
        begun = {"tool_use_id": hook.event.tool_use_id, "launched_at": now_ms}
        if continued is not None:
            begun |= {"agent_id": continued.agent_id, "background": True}
        return filled_in(held, request).with_(claim=claim.with_(**begun))

    mine = hook.store.change_held(
        request_id, hook.session.host, launched, event="launched"
    )
    claim = mine.claim if mine else None
    if mine is None or claim is None or claim.tool_use_id != hook.event.tool_use_id:
        # The call starts no agent after all.
        subagent_runs.drop(hook.store, run)
        note_no_launch(hook.store, hook.session.host, run.tool_use_id)
        return _is_worked_on(request_id) if claim else _is_with_another(request_id)
    # Housekeeping: the launch stands without it.
    with suppress(StateUnavailable):
        with hook.store.state() as state:
            idle_agents.forget(state, run.agent_id)
        note_taken_up(hook)
    return with_news(hook, _rewrite(hook, mine))


def _agreed(
    hook: HookContext, request: Request, status: Status
) -> Request | HookOutput:
    """The request, if this session holds it and the call is the one it asked for."""
    request_id = RequestId(request.request_id)
    if status is Status.PENDING:
        taken = _take(hook, request_id)
        if taken is None:
            return deny(f"hostbridge: request {request_id} is not for this session.")
        request = taken
    return _held(hook, request) or agreed(hook, request)


class _Ready(NamedTuple):
    """A request with its agent's definition applied, and where and how it works."""

    request: Request
    definition: Definition | None
    folder: str
    workflow: str | None


def _limits_of(request: Request, definition: Definition | None) -> dict[str, Any]:
    """What its definition, and what a fork is, has the agent do without."""
    limits = limits_of(definition)
    if request.context_from is not None:
        blocked = limits.get("blocked_tools", ())
        limits["blocked_tools"] = (*blocked, *forks.OF_THE_MAIN_THREAD)
    return limits


def _continuing(hook: HookContext, continued: Continued | None) -> dict[str, Any]:
    """What the record says of an agent that is asked again."""
    if continued is None:
        return {}
    from bridge.host import agent_usage

    taken = agent_usage.taken_so_far(hook.event, continued.agent_id)
    return {
        "agent_id": continued.agent_id,
        "continued_from": continued.first,
        "took_before": taken and taken.own,
        "took_below_before": taken and taken.total,
    }


def _ready(hook: HookContext, request: Request) -> _Ready:
    """What a launch needs.

    Raises:
        BridgeError: the definition cannot be used (any more).
    """
    found: Definition | None
    agents = Agents.open(hook.settings, hook.store.place.project)
    if request.is_temporary:
        from bridge.engine.temporary import find_temporary

        found = find_temporary(hook.store, hook.settings.home, request)
    else:
        # The client has read its own folders by itself.
        found = agents.registry.find(request.agent_type, LAYERS)
    definition = found and agents.with_base(found, "host")
    request = resolve(definition, hook.store, request)
    folder = request.folder and str(check_folder(hook.store.place, request.folder))
    workflow = _workflow(hook, request)
    is_fork = request.context_from is not None
    if definition is not None:
        check_rule_set(definition, hook.settings, hook.store.place)
        carrier = None if is_fork else _carrier(hook, agents.registry)
        request = _hosted(request, definition, carrier)
    forks.check(request, hook.settings, hook.store.place)
    if is_fork:
        forks.check_same(hook.session.session_id, request)
    return _Ready(request, definition, folder or "", workflow)


def _workflow(hook: HookContext, request: Request) -> str | None:
    """What the agent's conversation works through; None for nothing.

    It begins with the agent's first event: only then is it known which agent it is.

    Raises:
        BridgeError: it cannot be used.
    """
    if not request.works_through:
        return None
    from bridge.agents.workflow_choice import workflow_of
    from bridge.bound.conversations import compiled

    wanted = workflow_of(request)
    if wanted is None:
        return None
    compiled(hook.settings, hook.store.place.project, wanted)
    return wanted.name


def _hosted(request: Request, definition: Definition, carrier: str | None) -> Request:
    """The request as a session runs it: by which agent, and how that agent searches.

    `carrier` is the session's name for our own agent, None if it does not know it.
    """
    if request.definition is None:
        return request
    from bridge.agents.search_tools import only_reads, search_note

    resolved = request.definition
    is_carried = carrier is not None and only_reads(definition)
    note = search_note(definition, has_search=is_carried)
    changed = {
        "subagent_type": carrier if is_carried else resolved.subagent_type,
        "prompt": f"{resolved.prompt}\n\n{note}" if note else resolved.prompt,
    }
    return request.with_(definition=resolved.with_(**changed))


def _carrier(hook: HookContext, registry: Registry) -> str | None:
    """The session's name for our own agent; None if it does not know it."""
    known = hook.session.carrier
    if known != CARRIER:
        return known
    from bridge.host.carrier import still_there

    # Somebody else's of that name, in the project say, comes before ours.
    if CARRIER in registry.client_agents():
        return None
    return still_there(hook.settings)


def _held(hook: HookContext, request: Request) -> HookOutput | None:
    """The answer to a call that must not launch the request; None if it may.

    Checked before anything else: a problem that a late or repeated call finds must not
    end a request that an agent already works on.
    """
    request_id = RequestId(request.request_id)
    claim = request.claim
    if claim is None or claim.host != hook.session.host:
        return _is_with_another(request_id)
    if claim.launched_at is None:
        return None
    if claim.tool_use_id == hook.event.tool_use_id:
        # The same call seen twice: two installs, or the client asked again.
        return _rewrite(hook, request)
    return _is_worked_on(request_id)


def _is_with_another(request_id: RequestId) -> HookOutput:
    return deny(f"hostbridge: request {request_id} is with another session.")


def _is_worked_on(request_id: RequestId) -> HookOutput:
    return deny(f"hostbridge: an agent already works on request {request_id}.")


def _take(hook: HookContext, request_id: RequestId) -> Request | None:
    """Claim a request that is still waiting although the model already calls for it."""
    taken = hook.store.claim(
        hook.claimant, hook.settings.slots, judge_for(hook), only=request_id
    )
    return taken[0] if taken else None


def _unusable(hook: HookContext, request_id: RequestId, exc: BridgeError) -> HookOutput:
    """The definition cannot be used (any more): the caller is told why."""
    request = hook.store.find_unfinished(request_id)
    if request is not None:
        # Another call of this session may have launched it meanwhile.
        if (held := _held(hook, request)) is not None:
            return held
        response = failed(request, code_of(exc), exc.what, now_ms=hook.now_ms())
        hook.store.publish(response, source="launch")
    return deny(f"hostbridge: request {request_id} cannot run. No agent is needed.")


def _answer_by(request: Request, now_ms: int) -> int:
    """The time from which the agent is told to answer with what it has."""
    left = max(0, request.deadline_ms - now_ms)
    moment = request.deadline_ms - min(limits.LAST_MS, int(left * _SOFT_SHARE))
    return min(moment, LATEST_MS)


def _rewrite(hook: HookContext, request: Request) -> HookOutput:
    who = one_line(request.requester or "a program", 40)
    if request.claim is not None and (continued := request.claim.continued):
        message = {
            "to": continued.agent_id,
            "summary": request_tokens.describe(request.request_id, who),
            "message": prompt_for(request),
        }
        asked = f"hostbridge: {who} asks {request.agent_type} again"
        return allow(message, asked)
    tool_input: dict[str, Any] = {
        "description": request_tokens.describe(request.request_id, who),
        "prompt": prompt_for(request),
        "subagent_type": forks.subagent_type(request),
    }
    if request.model in CLIENT_MODELS:
        tool_input["model"] = request.model
    if hook.session.one_shot or hook.event.agent_id:
        # The turn waits for the agent: there is no later one to hear of its end. Nor
        # does an agent hear of one that it has started, but at a terminal.
        tool_input["run_in_background"] = False
    context = f" (context: {request.context_from})" if request.context_from else ""
    return allow(tool_input, f"hostbridge: {who} asks {request.agent_type}{context}")


def _note_wait(hook: HookContext, request: Request) -> None:
    """Have the turn wait for the agent, if a rule gave it what a call was to do.

    Without a terminal or a stream the call itself waits.
    """
    if hook.session.one_shot:
        return
    store = hook.store
    if request.request_id not in callers(store, hook.session.session_id):
        return
    note = {
        "requestId": request.request_id,
        "agent": request.agent_type,
        "until": uptime(store.clock).ms + request.deadline_ms - store.now_ms(),
    }
    with store.folder("agents") as folder:
        name = f"{hook.event.tool_use_id}.wait"
        folder.replace(name, json.dumps(note).encode(), durable=False)
