"""Tell the user what is wrong with rules: when a session begins, and after a change."""

import json
import os
from contextlib import suppress

from bridge.errors import BridgeError
from bridge.host.context import HookContext
from bridge.host.told_later import tell_later
from bridge.protocol.hook_output import HookOutput, with_more
from bridge.protocol.record import json_object
from bridge.rules.freshness import FOLDER, PROBLEMS

# Of a project's rules files that wait for trust, those that the user was told of.
_TOLD = "told.json"
# Where the client shows a line of a hook's.
_SHOWN = ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop")


def with_problems(hook: HookContext, output: HookOutput) -> HookOutput:
    """The answer to the event that found new rules, with what is wrong in them."""
    line = about_rules(hook, with_errors=True)
    if not hook.event.agent_id and hook.event.name in _SHOWN:
        return with_more(output, line)
    if line:
        tell_later(hook, [line.removeprefix("hostbridge: ")])
    return output


def about_rules(hook: HookContext, *, with_errors: bool) -> str:
    """What the user should know of the rules files: errors, and once what waits."""
    if not os.path.lexists(f"{hook.store.place.state}/{FOLDER}/{PROBLEMS}"):
        return ""
    said = []
    with suppress(BridgeError, OSError), hook.store.folder(FOLDER) as folder:
        record = json_object(folder.read(PROBLEMS))
        if record.get("agents") and hook.event.name == "SessionStart":
            from bridge.rules.compiled import compile_rules

            # They may be there by now.
            compile_rules(hook.settings, hook.store)
            record = json_object(folder.read(PROBLEMS))
        errors = [*record.get("errors", ()), *record.get("agents", ())]
        waiting, held = record.get("untrusted"), record.get("held", ())
        if errors and with_errors:
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
    return f"hostbridge: {'; '.join(said)}" if said else ""
