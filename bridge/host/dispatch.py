"""Answer one event: find its session and the handler, and hand it over."""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from bridge.bound.gate import last_word
from bridge.config import Settings
from bridge.errors import BridgeError
from bridge.host.context import HookContext
from bridge.host.events import HookEvent
from bridge.host.told_later import with_notes
from bridge.protocol.claim import HostProcess
from bridge.protocol.hook_output import SILENT, HookOutput, specific
from bridge.protocol.ids import is_id
from bridge.rules.freshness import FOLDER, is_fresh
from bridge.store import sessions
from bridge.store.config_file import files_of, in_files
from bridge.store.hook_log import append, log_settings
from bridge.store.host_process import identify
from bridge.store.live_runs import some_live
from bridge.store.location import Place, check, locate
from bridge.store.pins import Pins
from bridge.store.sessions import Session
from bridge.store.store import Store

LOCK_WAIT_S = 0.2
# Everything but `is_decided_once` can wait for the next event.
PATIENT_LOCK_WAIT_S = 2.0
# Events that end nothing, but for an agent's own report; SessionStart must not wait.
_NO_END = (
    "PreToolUse",
    "PermissionRequest",
    "SessionStart",
    "CwdChanged",
    "PostModelSwitch",
)


def answer(data: bytes, event_name: str, kind: str = "", state: str = "") -> HookOutput:
    """Decide what to answer to one event.

    `kind` is the install that registered the hook: of several, one acts for a session.
    `state` is the state directory that the shell half found.
    """
    settings = Settings.from_environment()
    event = HookEvent.parse(data)
    if event is None:
        return HookOutput(last_word(event_name, state, data))
    if event.name != event_name:
        return SILENT
    if settings.off and event_name not in ("PreToolUse", "PermissionRequest"):
        # Requests of our agents are still refused.
        return SILENT
    pins = Pins.of(settings)
    host = _client_of(settings, event)
    if host is None:
        return SILENT
    place = _place_of(settings, event, pins, host)
    settings = _with_files(settings, place)
    store = Store(
        place,
        lock_wait_s=PATIENT_LOCK_WAIT_S if event.is_decided_once else LOCK_WAIT_S,
        lease_s=settings.lease_s,
    )
    with store.open() as opened:
        session_id, starts = event.text("session_id"), event.is_startup
        if kind and not pins.own(opened, session_id, kind, host, starts=starts):
            return SILENT
        session = _session_of(settings, opened, event, kind, host)
        if session is None:
            return SILENT
        hook = HookContext(settings, opened, event, session, [])
        output = _answered(hook)
        go_on_with_flows(hook)
        output = with_notes(hook, output)
        if hook.due and output.later is None:
            from bridge.host.after_hook import wake_when_due

            output = output.then(wake_when_due)
        if settings.debug:
            # The answer is printed even if the log fails.
            with suppress(BridgeError, OSError):
                _log_answer(hook, output)
    if output.printed is not None or output.later is not None:
        # Both open the state anew, the second in a process of its own.
        output = output.bound_to(hook._replace(store=store))
    return output


def _answered(hook: HookContext) -> HookOutput:
    """The answer of the event's handler, and of the rules about it."""

    def handler(hook: HookContext) -> HookOutput:
        return _handler_of(hook.event.name)(hook)

    if hook.settings.off:
        return handler(hook)
    is_changed = not is_fresh(hook.settings, hook.store.place)
    if is_changed:
        from bridge.rules.compiled import try_to_compile

        try_to_compile(hook.settings, hook.store)
    answered, is_stepped = handler, may_concern_steps(hook)
    if is_stepped:
        from bridge.host.active_steps import answer_with_steps

        answered = partial(answer_with_steps, handler=handler)
    # The sign that the shell half looks for.
    if os.path.lexists(f"{hook.store.place.state}/{FOLDER}/{hook.event.name}"):
        from bridge.host.rule_effects import answer_with_rules

        output = answer_with_rules(hook, answered, is_always_asked=is_stepped)
    else:
        output = answered(hook)
    if is_changed and hook.event.name != "SessionStart":
        from bridge.host.rule_problems import with_problems

        output = with_problems(hook, output)
    return output


def may_concern_steps(hook: HookContext) -> bool:
    """Whether a step workflow is active in the session, or an agent is to begin one."""
    state = str(hook.store.place.state)
    if os.path.lexists(f"{state}/sessions/{hook.session.session_id}.steps"):
        return True
    if not hook.event.agent_id:
        return False
    from bridge.host.runs import find_run

    run = find_run(hook.store, hook.event)
    if run is None or run.workflow is None:
        return False
    from bridge.bound.first_look import begins

    return begins(state, run.to_data())


def go_on_with_flows(hook: HookContext) -> None:
    """Have what this event has ended lead on in the runs of flows that live, if any."""
    event = hook.event
    is_end = event.name not in _NO_END or event.tool == "SubagentHandback"
    if hook.settings.off or not is_end:
        return
    if some_live(hook.store.place):
        from bridge.host.flow_runs import go_on

        go_on(hook)


def _log_answer(hook: HookContext, output: HookOutput) -> None:
    """Log an event and what was answered."""
    event = hook.event
    fields = {
        key: event.raw[key]
        for key in ("session_id", "agent_id", "tool_name", "tool_use_id", "source")
        if key in event.raw
    }
    said = (output.stdout.decode() or output.stderr)[:2000]
    text = f"{event.name} {fields} -> exit {output.exit_code} {said}\n"
    with hook.store.state() as state:
        append(state.directory, "debug.log", text)


def only_watch(data: bytes) -> HookOutput:
    """Name the wake-up folder, even before it exists: no other event can name it.

    Until it exists the client watches its nearest existing parent.
    """
    from bridge.store.wakeups import path_of

    settings = Settings.from_environment()
    event = HookEvent.parse(data)
    host = _client_of(settings, event) if event else None
    if event is None or host is None or settings.off or event.agent_id:
        return SILENT
    place = _place_of(settings, event, Pins.of(settings), host)
    # If others could write there, nothing is watched.
    check(place)
    return specific(event.name, watchPaths=[path_of(place, host)])


def _client_of(settings: Settings, event: HookEvent) -> HostProcess | None:
    """The client that sent an event; None if it cannot be identified."""
    if not is_id(event.text("session_id")):
        return None
    return identify(settings.host_pid or os.getppid())


def _place_of(
    settings: Settings, event: HookEvent, pins: Pins, host: HostProcess
) -> Place:
    """Where the state of the session lies that an event came from."""
    pinned = pins.find(event.text("session_id"), host, starts=event.is_startup)
    start = settings.project_dir or Path(event.text("cwd") or ".")
    return pinned or locate(settings, start)


def _with_files(settings: Settings, place: Place) -> Settings:
    """The settings that hold now: they are read anew at each event."""
    layered, problems = in_files(settings, place.state)
    if problems:
        log_settings(files_of(settings, place.state), problems)
    return layered


def _session_of(
    settings: Settings, store: Store, event: HookEvent, kind: str, host: HostProcess
) -> Session | None:
    """The session that an event came from, which is registered if it is not known."""
    session = sessions.find_session(store, event.text("session_id"), host)
    starts = event.name == "SessionStart"
    if starts and event.agent_id:
        # The conversation of an agent was compacted: no session starts.
        return session
    if session is not None and not starts:
        return session
    from bridge.bound.budgets import limits_of
    from bridge.host.carrier import known_at_start
    from bridge.host.registration import decide_ring, register

    # Before the session is on record: who waits takes that for the end of this.
    decide_ring(store, host, settings.wake)
    carrier = known_at_start(settings, event, kind)
    return register(store, event, host, carrier, limits_of(settings))


def _handler_of(event_name: str) -> Callable[[HookContext], HookOutput]:
    """The function that answers an event; imports only what it needs."""
    if event_name in ("FileChanged", "PostToolUse"):
        from bridge.host.offer_events import HANDLERS
    elif event_name in (
        "SessionStart", "CwdChanged", "PostModelSwitch", "SessionEnd",
    ):  # fmt: skip
        from bridge.host.session_events import HANDLERS
    elif event_name in ("UserPromptSubmit", "Stop"):
        from bridge.host.turn_events import HANDLERS
    elif event_name == "StopFailure":
        from bridge.host.unseen_ends import HANDLERS
    elif event_name == "SubagentStop":
        from bridge.host.seen_ends import HANDLERS
    else:
        from bridge.host.tool_events import HANDLERS
    return HANDLERS.get(event_name, lambda _hook: SILENT)
