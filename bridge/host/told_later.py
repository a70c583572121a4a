"""Lines for the user from hooks inside subagents, said when the main turn goes on.

    sessions/<id>.notes     one line each

Source: measured on Claude Code 2.1.330: a `systemMessage` from a hook in a subagent is
shown nowhere.
"""

import os
from collections.abc import Iterable
from contextlib import suppress

from bridge.errors import BridgeError
from bridge.host import runs
from bridge.host.context import HookContext
from bridge.host.output import MAX_NOTE, HookOutput, with_more
from bridge.protocol.wording import one_line
from bridge.store.sessions import live_sessions
from bridge.store.state import State
from bridge.store.store import Store

# The main conversation's hooks that look: they run in every turn (hooks/turn).
_EVENTS = ("UserPromptSubmit", "Stop")
_MAX_LINES = 3


def tell_later(hook: HookContext, notes: Iterable[str]) -> None:
    """Keep lines for the user; the same one once, and only so many.

    Without a terminal nobody reads them there: `hostbridge show` has them too.
    """
    lines = [one_line(note, MAX_NOTE) for note in notes]
    run = runs.find_run(hook.store, hook.event)
    with suppress(BridgeError, OSError), hook.store.state() as state, state.hold():
        if run is not None:
            for line in lines:
                state.note("rule", run.request_id, why=line)
        _keep(state, _file(hook), lines)


def tell_sessions(store: Store, notes: Iterable[str]) -> None:
    """Keep lines for the users of all open sessions: for a process that is no hook."""
    lines = [one_line(note, MAX_NOTE) for note in notes]
    with suppress(BridgeError, OSError):
        open_now = live_sessions(store)
        with store.state() as state, state.hold():
            for session in open_now:
                _keep(state, f"{session.session_id}.notes", lines)


def _keep(state: State, file: str, lines: list[str]) -> None:
    known = (state["sessions"].read(file) or b"").decode().splitlines()
    text = "\n".join([*dict.fromkeys([*known, *lines])][:_MAX_LINES])
    state["sessions"].replace(file, text.encode(), durable=False)


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
