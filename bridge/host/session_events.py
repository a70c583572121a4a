"""A session begins, changes its folder or its model, or ends."""

from contextlib import suppress

from bridge.errors import StateUnavailable
from bridge.host import after_hook, registration, runs
from bridge.host.context import HookContext
from bridge.host.request_tokens import INTRODUCTION
from bridge.host.rule_problems import about_rules
from bridge.protocol.contract import again
from bridge.protocol.hook_output import (
    MAX_CONTEXT,
    SILENT,
    HookOutput,
    context,
    specific,
    with_line,
)
from bridge.protocol.ids import RequestId
from bridge.store import sessions, wakeups


def session_start(hook: HookContext) -> HookOutput:
    """Introduce ourselves and name the wake-up folder; the same for every source.

    Do nothing else before the answer: without it the session has no watch.
    """
    if hook.event.agent_id:
        return _compacted(hook)
    watched = wakeups.prepare(hook.store, hook.session.host)
    output = specific(
        "SessionStart", additionalContext=INTRODUCTION, watchPaths=[watched]
    )
    is_new = hook.event.text("source") in ("startup", "resume")
    if line := about_rules(hook, with_errors=is_new):
        output = with_line(output, line)
    return output.then(after_hook.settle)


def cwd_changed(hook: HookContext) -> HookOutput:
    """From now on the client watches what is named here, and nothing else of ours.

    Reached only if hooks/moved cannot answer alone.
    """
    watched = wakeups.prepare(hook.store, hook.session.host)
    with suppress(StateUnavailable):
        sessions.note_watch(hook.store, hook.session)
    output = specific("CwdChanged", watchPaths=[watched])
    return output.then(after_hook.wake_until_answered)


def model_switched(hook: HookContext) -> HookOutput:
    """Agents that name no model run on another one from now on."""
    with suppress(StateUnavailable):
        sessions.note_model(hook.store, hook.session, hook.event.text("to_model"))
    return SILENT


def _compacted(hook: HookContext) -> HookOutput:
    """The conversation of a subagent was compacted: tell it again how to answer."""
    run = runs.find_run(hook.store, hook.event)
    if run is None or run.nested:
        return SILENT
    request = hook.store.find_unfinished(RequestId(run.request_id))
    if request is None:
        return SILENT
    words = again(request.answer_schema, MAX_CONTEXT, may_ask=request.may_still_ask)
    return context("SessionStart", words)


def session_end(hook: HookContext) -> HookOutput:
    """The session is over, unless its process goes on with another."""
    wakeups.stand_down(hook.store, hook.session.host)
    if hook.event.text("reason") not in ("clear", "resume"):
        from bridge.host import unseen_ends

        unseen_ends.release_all(hook)
        registration.forget(hook.store, hook.session)
        from bridge.store.cleaning import is_due

        if is_due(hook.store, hook.settings):
            return SILENT.then(_clean_up)
    return SILENT


def _clean_up(hook: HookContext) -> None:
    from bridge.store.cleaning import start_if_due

    start_if_due(hook.store, hook.settings)


HANDLERS = {
    "SessionStart": session_start,
    "CwdChanged": cwd_changed,
    "PostModelSwitch": model_switched,
    "SessionEnd": session_end,
}
