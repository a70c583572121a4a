"""A session begins, changes its folder, or ends."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from bridge.errors import BridgeError, StateUnavailable
from bridge.host import after_hook, registration, runs
from bridge.host.context import HookContext
from bridge.host.offer_text import INTRODUCTION
from bridge.host.output import (
    MAX_CONTEXT,
    SILENT,
    HookOutput,
    context,
    specific,
    with_line,
)
from bridge.protocol.contract import again
from bridge.protocol.ids import RequestId
from bridge.protocol.record import json_object
from bridge.rules.freshness import FOLDER, PROBLEMS
from bridge.store import sessions, wakeups

# Of a project's rules files that wait for trust, those that the user was told of.
_TOLD = "told.json"


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
    if line := _about_rules(hook):
        output = with_line(output, f"hostbridge: {line}")
    return output.then(after_hook.settle)


def _about_rules(hook: HookContext) -> str:
    """What the user should know of the rules files: errors, and once what waits."""
    if not os.path.lexists(f"{hook.store.place.state}/{FOLDER}/{PROBLEMS}"):
        return ""
    said = []
    with suppress(BridgeError, OSError), hook.store.folder(FOLDER) as folder:
        record = json_object(folder.read(PROBLEMS))
        if record.get("agents"):
            from bridge.rules.compiled import compile_rules

            # They may be there by now.
            compile_rules(hook.settings, hook.store)
            record = json_object(folder.read(PROBLEMS))
        errors = [*record.get("errors", ()), *record.get("agents", ())]
        waiting, held = record.get("untrusted"), record.get("held", ())
        if errors and hook.event.text("source") in ("startup", "resume"):
            count = f"{len(errors)} error{'s' * (len(errors) > 1)}"
            said.append(f"{count} in rules, see `hostbridge rules check`: {errors[0]}")
        now = json.dumps(waiting).encode()
        if waiting and folder.read(_TOLD) != now:
            folder.replace(_TOLD, now, durable=False)
            main = hook.store.place.main
            agree = f"until you run `hostbridge trust`{f' in {main}' if main else ''}"
            new = [file for file in waiting if file not in held]
            if held:
                what = "rules have changed, and those that you trusted hold"
                said.insert(0, f"{what} {agree}: {', '.join(held)}")
            if new:
                said.insert(0, f"no rules {agree}: {', '.join(new)}")
    return "; ".join(said)


def cwd_changed(hook: HookContext) -> HookOutput:
    """From now on the client watches what is named here, and nothing else of ours.

    Reached only if hooks/moved cannot answer alone.
    """
    watched = wakeups.prepare(hook.store, hook.session.host)
    with suppress(StateUnavailable):
        sessions.note_watch(hook.store, hook.session)
    output = specific("CwdChanged", watchPaths=[watched])
    return output.then(after_hook.wake_until_answered)


def _compacted(hook: HookContext) -> HookOutput:
    """The conversation of a subagent was compacted: tell it again how to answer."""
    run = runs.find_run(hook.store, hook.event)
    if run is None or run.nested:
        return SILENT
    request = hook.store.find_unfinished(RequestId(run.request_id))
    if request is None:
        return SILENT
    return context("SessionStart", again(request.answer_schema, MAX_CONTEXT))


def session_end(hook: HookContext) -> HookOutput:
    """The session is over, unless its process goes on with another."""
    if hook.event.text("reason") not in ("clear", "resume"):
        from bridge.host import unseen_ends

        unseen_ends.release_all(hook)
        registration.forget(hook.store, hook.session)
    return SILENT


HANDLERS = {
    "SessionStart": session_start,
    "CwdChanged": cwd_changed,
    "SessionEnd": session_end,
}
