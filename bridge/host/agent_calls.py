"""PreToolUse(Agent): which request a call names, if any, and who may make it."""

from bridge.host import limits, request_tokens, runs
from bridge.host.context import HookContext
from bridge.host.launch import launch
from bridge.protocol.hook_output import SILENT, HookOutput, deny, specific
from bridge.protocol.ids import RequestId
from bridge.protocol.names import GENERAL
from bridge.protocol.status import FINAL
from bridge.store import sessions, subagent_runs
from bridge.store.subagent_runs import AgentRun
from bridge.store.tool_calls import callers


def before_agent(hook: HookContext, caller: AgentRun | None) -> HookOutput:
    """Fill in the prompt of a call that names one of our requests.

    `caller` is the agent of ours that makes the call, if one does.
    """
    if hook.event.agent_id:
        return _nested(hook, caller)
    return _before_launch(hook, "prompt", "description")


def before_message(hook: HookContext) -> HookOutput:
    """PreToolUse(SendMessage) in the main thread: as `before_agent`.

    The agent that gets the message has answered before (`bridge.host.continuing`).
    """
    return _before_launch(hook, "message", "summary")


def _before_launch(hook: HookContext, *fields: str) -> HookOutput:
    """Fill in a call by the request that is named in one of these fields of it."""
    event = hook.event
    named = _named(hook, *fields)
    if not named:
        return _refuse_wrapped(hook, fields[0])
    if len(named) > 1:
        tokens = ", ".join(request_tokens.PREFIX + each for each in named)
        one = f"one {event.tool} call for each of {tokens}"
        return deny(f"hostbridge: {one}; call again.")
    request_id = named[0]
    if limits.is_off(hook):
        return deny("hostbridge is switched off. No agent is needed; go on.")
    found = hook.store.find(RequestId(request_id))
    if found is None or found.request is None:
        return deny(f"hostbridge knows no request {request_id}. No agent is needed.")
    if found.status in FINAL:
        return deny(f"hostbridge: request {request_id} has ended. No agent is needed.")
    if not event.tool_use_id:
        return deny("hostbridge cannot tell this call from others. Leave it; go on.")
    earlier = subagent_runs.find_call(hook.store, event.tool_use_id)
    if earlier is not None and earlier.request_id != request_id:
        # Nobody could tell whose answer is whose.
        return deny("hostbridge: another call has the id of this one; call again.")
    return launch(hook, found.request, found.status)


def _text(hook: HookContext, key: str) -> str:
    """A field of a call if it can contain a token; otherwise empty."""
    text = hook.event.table("tool_input").get(key)
    return text if isinstance(text, str) and request_tokens.mentions(text) else ""


def _named(
    hook: HookContext, first: str = "prompt", second: str = "description"
) -> list[str]:
    """The requests that a call stands for: more than one is one too many.

    A request offered to this session may be named by the first of these fields, or else
    by the second; any other only by a first that is nothing but its token.
    """
    prompt, description = _text(hook, first), _text(hook, second)
    if not prompt and not description:
        return []
    call = hook.event.tool_use_id
    offered = [
        request.request_id
        for request in hook.store.claimed()
        if (claim := request.claim) is not None
        and claim.host == hook.session.host
        and (claim.launched_at is None or claim.tool_use_id == call)
    ]
    if named := request_tokens.offered_in(prompt or description, offered):
        return named
    bare = request_tokens.find_bare(prompt)
    return [bare] if bare is not None else []


def _refuse_wrapped(hook: HookContext, field: str = "prompt") -> HookOutput:
    """Keep an agent from starting with a token that it cannot read.

    A longer text is about something else, and not ours; so is a token that names no
    request.
    """
    prompt = _text(hook, field)
    for each in (
        request_tokens.find_all(prompt) if request_tokens.is_wrapped(prompt) else ()
    ):
        if hook.store.find(RequestId(each)) is not None:
            return deny(
                f"hostbridge: request {each} is not offered here, or not any more. No "
                "agent is needed; to ask about it leave `bridge:` out."
            )
    return SILENT


def _handed_over(
    hook: HookContext, caller: AgentRun | None, request_id: str
) -> HookOutput:
    """An agent inside a subagent whose call a rule has handed over."""
    if caller is not None and (refused := limits.refuse(hook, caller)) is not None:
        return refused
    found = hook.store.find(RequestId(request_id))
    if found is None or found.request is None or found.status in FINAL:
        return deny(f"hostbridge: request {request_id} has ended. No agent is needed.")
    return launch(hook, found.request, found.status)


def _nested(hook: HookContext, caller: AgentRun | None) -> HookOutput:
    """An agent inside a subagent: our agents may start one, but not with our tokens."""
    event = hook.event
    named = _named(hook)
    if len(named) == 1 and _may_launch(hook, named[0]):
        return _handed_over(hook, caller, named[0])
    if named or _refuse_wrapped(hook) is not SILENT:
        return deny("hostbridge tokens are for the main conversation only.")
    if caller is None or not event.tool_use_id:
        return SILENT
    refused = limits.refuse_nested(hook, caller)
    if refused is not None:
        return refused
    tool_input = event.table("tool_input")
    inner = tool_input.get("subagent_type")
    agent_type = inner if isinstance(inner, str) else GENERAL
    call_id = event.tool_use_id
    runs.note_below(hook.store, caller, agent_type, call_id, parent=event.agent_id)
    left_ms = max(0, caller.answer_by - hook.now_ms())
    sessions.note_launch(hook.store, hook.session, call_id, left_ms=left_ms)
    # Without a terminal nobody wakes an agent when one of its own ends: it must wait.
    # At a terminal the client starts them all in the background, and wakes. What says
    # so itself is left as it is: auto mode reviews no call that a hook has changed.
    if tool_input.get("run_in_background") is False:
        return SILENT
    in_foreground = {**tool_input, "run_in_background": False}
    return specific("PreToolUse", updatedInput=in_foreground)


def _may_launch(hook: HookContext, request_id: str) -> bool:
    """Whether the agent of this event was asked to start the agent of a request."""
    known = callers(hook.store, hook.session.session_id)
    return known.get(request_id) == hook.event.agent_id
