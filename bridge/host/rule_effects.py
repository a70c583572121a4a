"""What rules say about an event, done: blocked, told, written down, handed over.

A rule is asked before the event's own handler, so that what it blocks has no other
effect: no answer is taken, no offer made. Only before a tool call our own limits and
tokens come first: what they refuse needs no rule.

Whatever fails while a rule that blocks is asked, blocks: see `policy.rule_set`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge.agents.filled_text import filled_in
from bridge.bound import rule_gate
from bridge.bound.delegation import Told, add_told
from bridge.bound.gate import is_off
from bridge.bound.headless import give
from bridge.config import Settings
from bridge.errors import BridgeError, StateUnavailable
from bridge.host import runs
from bridge.host.context import HookContext
from bridge.host.events import HookEvent
from bridge.host.handover import SessionDelegator
from bridge.host.offers import MAX_STOP_OFFERS
from bridge.host.output import (
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
from bridge.host.told_later import tell_later
from bridge.policy.rule_decision import Decision, Spawn, decide_event
from bridge.policy.rule_mending import NOT_BLOCKED, is_mending
from bridge.policy.rule_set import Whose, label_of, scope_of
from bridge.policy.tool_classes import HANDBACK, class_of, is_own
from bridge.rules.freshness import FOLDER
from bridge.store import sessions
from bridge.store.hook_log import log_failure, log_text
from bridge.store.store import Store
from bridge.store.variables import Holder, set_variables

if TYPE_CHECKING:
    Json = dict[str, Any]
    Handler = Callable[[HookContext], HookOutput]

_WAY_OUT = f"`hostbridge rules check` compiles them, or says why not; {NOT_BLOCKED}"


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
    for spawn in decision.spawns:
        # First: the handler may offer it at once.
        told = _given(hook, spawn, whose, decision.changes)
        decision.notes += filter(None, [told.text])
    output = handler(hook)
    _write_down(hook, decision, whose)
    return _told(hook, decision, output)


def _decide(hook: HookContext) -> tuple[Decision, Whose]:
    run = runs.find_run(hook.store, hook.event)
    data = run.to_data() if run else None
    return decide(hook.settings, hook.store, hook.event.raw, data)


def decide(
    settings: Settings, store: Store, raw: Json, run: Json | None
) -> tuple[Decision, Whose]:
    """What the rules in a state say about an event, and in whose name it happens.

    `run` is the record of the agent of ours in which it happened. Compiled rules that
    are damaged are made again.
    """
    state = str(store.place.state)
    try:
        return _decided(state, raw, run)
    except Exception:  # noqa: BLE001 - a file of any content
        log_failure("rules")
    try:
        from bridge.rules.compiled import compile_rules

        compile_rules(settings, store)
        return _decided(state, raw, run)
    except Exception as error:  # noqa: BLE001 - a rule that blocks may be lost
        log_failure("rules")
        return _undecided(state, raw, error), Whose({})


def _undecided(state: str, raw: Json, error: Exception) -> Decision:
    """Refuse what a lost rule may block: a call of a class with a sign, a prompt.

    Not the end of a turn: it would begin again for ever where nothing can be written.
    """
    decision = Decision()
    event = str(raw.get("hook_event_name"))
    sign = f"{state}/{FOLDER}/{event}"
    if event == "PreToolUse":
        sign += f".{class_of(str(raw.get('tool_name')))}"
    if is_off(state, raw) or not os.path.lexists(sign):
        return decision
    why = f"the rules cannot be read, and not be compiled again: {error}"
    if event not in ("PreToolUse", "UserPromptSubmit"):
        decision.notes.append(why)
    elif not is_mending(scope_of(raw, Whose({}))):
        decision.block = f"hostbridge: {why}\n{_WAY_OUT}"
    return decision


def _decided(state: str, raw: Json, run: Json | None) -> tuple[Decision, Whose]:
    compiled = rule_gate.load_rules(state, str(raw.get("hook_event_name")))
    defaults = compiled["variables"] if compiled else {}
    whose = rule_gate.whose_of(state, raw, run, defaults)
    if compiled is None or is_off(state, raw):
        return Decision(), whose
    shell = rule_gate.shell()
    decision = decide_event(compiled["rules"], raw, whose, filled_in, shell)
    for fired in decision.fired:
        if fired.how == "skipped":
            log_text(f"rule {label_of(fired.rule)} was skipped: {fired.cause}")
    return decision, whose


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
    limit = MAX_REASON
    for spawn in decision.spawns:
        told = _given(hook, spawn, whose, decision.changes)
        if add_told(decision, spawn, told):
            limit = MAX_CONTEXT
    if decision.block is None:
        return _told(hook, decision, output)
    run = runs.find_run(hook.store, hook.event)
    if run is not None:
        from bridge.host.limits import take_back

        take_back(hook, run, decision.block)
    return _told(hook, decision, deny(decision.block, limit=limit))


def _given(
    hook: HookContext, spawn: Spawn, whose: Whose, changes: Mapping[str, Any]
) -> Told:
    """What comes of work for an agent; `changes` are variables that rules have set."""
    run, variables = runs.find_run(hook.store, hook.event), whose.variables
    agent_id = hook.event.agent_id
    delegator = SessionDelegator(
        hook, run, agent_id, depth=whose.depth, variables={**variables, **changes}
    )
    return give(delegator, spawn)


def _refusal(hook: HookContext, reason: str) -> HookOutput | None:
    """Keep something else than a call from happening; None past our own limit."""
    name = hook.event.name
    if name == "UserPromptSubmit":
        return refuse_prompt(reason)
    if name == "SubagentStop":
        return block(reason)
    if name != "Stop" or hook.session.stop_offers >= MAX_STOP_OFFERS:
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
    if not decision.changes:
        return
    is_ours = bool(whose.above) and runs.find_run(hook.store, hook.event) is not None
    holder = (
        Holder.agent(hook.event.agent_id)
        if is_ours
        else Holder.session(hook.session.session_id)
    )
    call = hook.event.tool_use_id
    # Before and after a call are two events, and each counts once.
    seen = f"{hook.event.name} {call}" if call else ""
    try:
        set_variables(
            hook.store,
            holder,
            decision.changes,
            "rule",
            counted=decision.counted,
            call=seen,
        )
    except BridgeError as error:
        decision.notes.append(f"variables were not written: {error}")
