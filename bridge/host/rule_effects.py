"""What rules say about an event, done: blocked, told, written down, handed over.

A rule is asked before the event's own handler, so that what it blocks has no other
effect: no answer is taken, no offer made. Only before a tool call our own limits and
tokens come first: what they refuse needs no rule.

What decides is `bridge.bound.event_rules`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge.bound.event_rules import decide, keep_variables
from bridge.errors import StateUnavailable
from bridge.host import runs
from bridge.host.context import HookContext
from bridge.host.events import HookEvent
from bridge.host.told_later import tell_later
from bridge.policy.rule_decision import Decision
from bridge.policy.rule_set import Whose
from bridge.policy.tool_classes import HANDBACK, is_own
from bridge.protocol.hook_output import (
    MAX_CONTEXT,
    MAX_REASON,
    SILENT,
    HookOutput,
    block,
    context,
    deny,
    refuse_prompt,
    with_context,
    with_line,
)
from bridge.store import sessions
from bridge.store.variables import Holder

if TYPE_CHECKING:
    Json = dict[str, Any]
    Handler = Callable[[HookContext], HookOutput]


def answer_with_rules(
    hook: HookContext, handler: Handler, *, is_always_asked: bool = False
) -> HookOutput:
    """The answer of rules and of the event's handler, as one.

    The handler has no look at a call that is plainly not ours, unless it
    `is_always_asked`.
    """
    event = hook.event
    if event.name == "PreToolUse":
        is_asked = is_always_asked or _concerns_handler(event)
        output = handler(hook) if is_asked else SILENT
        # It is refused, or turned into one of ours.
        is_decided = b'"permissionDecision"' in output.stdout
        if is_decided or event.tool == HANDBACK:
            return output
        decision, whose = _decide(hook)
        return _about_call(hook, decision, whose, output)
    if event.name == "UserPromptSubmit" and _is_notice(event):
        return handler(hook)
    decision, whose = _decide(hook)
    if decision.block is not None:
        refused = _refusal(hook, decision.block)
        if refused is not None:
            _write_down(hook, decision, whose)
            return _with_notes(hook, refused, decision)
    # First: the handler may offer it at once.
    _give(hook, decision, whose)
    output = handler(hook)
    _write_down(hook, decision, whose)
    return _told(hook, decision, output)


def _decide(hook: HookContext) -> tuple[Decision, Whose]:
    run = runs.find_run(hook.store, hook.event)
    data = run.to_data() if run else None
    return decide(hook.settings, hook.store, hook.event.raw, data)


def _concerns_handler(event: HookEvent) -> bool:
    """Whether the handler has a look at a call; if not, it need not be imported."""
    is_ours = "bridge" in event.command or is_own(event.tool)
    return bool(event.agent_id) or event.is_agent_call or is_ours


def _is_notice(event: HookEvent) -> bool:
    from bridge.host.notices import is_notice

    return is_notice(event.text("prompt"))


def _about_call(
    hook: HookContext, decision: Decision, whose: Whose, output: HookOutput
) -> HookOutput:
    """A tool call is about to run."""
    # First: what a rule counts, it counts, even if the hook is killed while it waits.
    _write_down(hook, decision, whose)
    limit = MAX_CONTEXT if _give(hook, decision, whose) else MAX_REASON
    if decision.block is None:
        return _told(hook, decision, output)
    run = runs.find_run(hook.store, hook.event)
    if run is not None:
        from bridge.host.limits import take_back

        take_back(hook, run, decision.block)
    return _told(hook, decision, deny(decision.block, limit=limit))


def _give(hook: HookContext, decision: Decision, whose: Whose) -> bool:
    """Give work to agents, as rules say; whether that refuses the event."""
    if not decision.spawns:
        return False
    from bridge.bound.headless import give
    from bridge.host.handover import SessionDelegator

    run, variables = runs.find_run(hook.store, hook.event), whose.variables
    delegator = SessionDelegator(
        hook,
        run,
        hook.event.agent_id,
        depth=whose.depth,
        variables={**variables, **decision.changes},
    )
    return give(delegator, decision)


def _refusal(hook: HookContext, reason: str) -> HookOutput | None:
    """Keep something else than a call from happening; None past our own limit."""
    name = hook.event.name
    if name == "UserPromptSubmit":
        return refuse_prompt(reason)
    if name == "SubagentStop":
        return block(reason)
    if name != "Stop" or hook.session.stop_offers >= sessions.MAX_STOP_OFFERS:
        return None
    with suppress(StateUnavailable):
        count = hook.session.stop_offers + 1
        sessions.note_stop_offers(hook.store, hook.session, count)
    return context("Stop", reason)


def _told(hook: HookContext, decision: Decision, output: HookOutput) -> HookOutput:
    """The answer with what rules add to it."""
    if decision.contexts:
        text = "\n\n".join(decision.contexts)
        output = with_context(output, hook.event.name, text)
    return _with_notes(hook, output, decision)


def _with_notes(
    hook: HookContext, output: HookOutput, decision: Decision
) -> HookOutput:
    if not decision.notes:
        return output
    if hook.event.agent_id:
        tell_later(hook, decision.notes)
        return output
    return with_line(output, "hostbridge: " + "; ".join(decision.notes))


def _write_down(hook: HookContext, decision: Decision, whose: Whose) -> None:
    """Keep the variables that rules have set: the agent's own, or the session's."""
    is_ours = bool(whose.above) and runs.find_run(hook.store, hook.event) is not None
    agent_id, session_id = hook.event.agent_id, hook.session.session_id
    holder = Holder.agent(agent_id) if is_ours else Holder.session(session_id)
    keep_variables(
        hook.store, holder, decision, hook.event.name, hook.event.tool_use_id
    )
