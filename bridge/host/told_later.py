"""Lines for the user from hooks inside subagents, said when the main turn goes on.

    sessions/<id>.notes     one line each

Source: measured on Claude Code 2.1.330: a `systemMessage` from a hook in a subagent is
shown nowhere.
"""

import os
from collections.abc import Iterable
from contextlib import suppress

from bridge.errors import BridgeError
from bridge.host.context import HookContext
from bridge.protocol.hook_output import HookOutput, with_more
from bridge.protocol.wording import MAX_NOTE, one_line
from bridge.store.sessions import keep_notes

# The main conversation's hooks that look: they run in every turn (hooks/turn).
_EVENTS = ("UserPromptSubmit", "Stop")


def tell_later(hook: HookContext, notes: Iterable[str]) -> None:
    """Keep lines for the user; the same one once, and only so many.

    Without a terminal nobody reads them there: `hostbridge show` has them too.
    """
    from bridge.host import runs

    lines = [one_line(note, MAX_NOTE) for note in notes]
    run = runs.find_run(hook.store, hook.event)
    with suppress(BridgeError, OSError), hook.store.state() as state, state.hold():
        if run is not None:
            for line in lines:
                state.note("rule", run.request_id, why=line)
        keep_notes(state, hook.session.session_id, lines)


def with_notes(hook: HookContext, output: HookOutput) -> HookOutput:
    """The answer to an event of the main conversation, with what was kept."""
    event = hook.event
    if event.agent_id or event.name not in _EVENTS:
        return output
    if not os.path.lexists(f"{hook.store.place.state}/sessions/{_file(hook)}"):
        return output
    with suppress(BridgeError, OSError), hook.store.folder("sessions") as folder:
        kept = (folder.read(_file(hook)) or b"").decode("utf-8", "replace")
        folder.remove(_file(hook))
        return with_more(output, f"hostbridge: {'; '.join(kept.splitlines())}")
    return output


def _file(hook: HookContext) -> str:
    return f"{hook.session.session_id}.notes"
