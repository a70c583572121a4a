"""One hook process: read the event, find its handler, say at most one thing.

Whatever goes wrong here is logged, and the user's own calls are not touched; requests
of our own agents are denied (`gate.last_word`). An alarm bounds the time,
`bridge.host.output` the output.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bridge.config import Settings
from bridge.host.gate import last_word, read_all
from bridge.host.output import SILENT, HookOutput

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bridge.host.context import HookContext
    from bridge.host.events import HookEvent
    from bridge.host.pins import Pins
    from bridge.store.store import Store

TIME_LIMIT_S = 20
LOCK_WAIT_S = 0.2
# An agent is launched once and ends once: these cannot be decided later. Everything
# else can wait for the next event.
PATIENT_LOCK_WAIT_S = 2.0
# What to do once the client has its answer.
LATER_LIMIT_S = 20
_PATIENT = frozenset({"PreToolUse", "SubagentStop"})
MAX_LOG_BYTES = 1024 * 1024


class _TooLong(BaseException):
    """The time is up; not an `Exception`, so that no handler on the way catches it."""


def main() -> None:
    """Run the hook for the event named in argv; never returns."""
    output = SILENT
    data = b""
    event_name, kind, state = (*sys.argv[1:4], "", "", "")[:3]
    signal.signal(signal.SIGALRM, _too_long)
    # The scripts have set an alarm that ends the process; part of it may have passed.
    left = signal.getitimer(signal.ITIMER_REAL)[0] or TIME_LIMIT_S
    # Repeatedly: an exception raised in a destructor is lost.
    signal.setitimer(signal.ITIMER_REAL, min(TIME_LIMIT_S, left), 1)
    try:
        data = read_all()
        output = react(data, event_name, kind, state)
    except (Exception, _TooLong):  # noqa: BLE001 - fails open, whatever it was
        # What follows must not be interrupted half way.
        signal.alarm(0)
        _log_failure(event_name)
        output = _say_even_so(event_name, state, data)
    signal.alarm(0)
    _emit(output)


def _too_long(_signal: int, _frame: object) -> None:
    raise _TooLong(f"the hook took more than {TIME_LIMIT_S} s")


def _say_even_so(event_name: str, state: str, data: bytes) -> HookOutput:
    """What must be said although something failed."""
    said = last_word(event_name, state, data)
    if said or event_name not in ("SessionStart", "CwdChanged"):
        return HookOutput(said)
    try:
        from bridge.host.events import HookEvent

        event = HookEvent.parse(data)
        return _watch(event) if event is not None else SILENT
    except Exception:  # noqa: BLE001 - there is no other way left
        return SILENT


def _watch(event: HookEvent) -> HookOutput:
    """Name the wake-up folder, even before it exists: no other event can name it.

    Until it exists the client watches its nearest existing parent.
    """
    from bridge.host import pins
    from bridge.host.output import specific
    from bridge.store.host_process import identify
    from bridge.store.location import check
    from bridge.store.wakeups import path_of

    settings = Settings.from_environment()
    host = identify(settings.host_pid or os.getppid())
    store = _find_store(settings, event, pins.reader_for(settings))
    if settings.off or event.agent_id or host is None or store is None:
        return SILENT
    # If others could write there, nothing is watched.
    check(store.place)
    return specific(event.name, watchPaths=[path_of(store.place, host)])


def _emit(output: HookOutput) -> None:
    """Print and leave at once: nothing may come after the one document."""
    try:
        if output.stderr:
            os.write(2, output.stderr.encode())
        view = memoryview(output.stdout)
        while view:
            view = view[os.write(1, view) :]
    except OSError:
        pass
    if output.later is not None:
        _do_later(output.later)
    os._exit(output.exit_code)


def _do_later(later: Callable[[], None]) -> None:
    """Do it in another process; the client waits for this one.

    It takes any process that holds stdout for a running hook.
    """
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        if os.fork():
            return
    except OSError:
        return
    try:
        os.setsid()
        os.nice(5)
        signal.setitimer(signal.ITIMER_REAL, LATER_LIMIT_S, 1)
        later()
    except _TooLong:
        pass
    except Exception:  # noqa: BLE001 - nobody is there to be told
        signal.alarm(0)
        _log_failure("after the answer")
    finally:
        os._exit(0)


def react(data: bytes, event_name: str, kind: str = "", state: str = "") -> HookOutput:
    """Decide what to answer to one event; everything but stdin and stdout.

    `kind` is the install that registered the hook: of several, one acts for a session.
    `state` is the state directory that the shell half found.
    """
    from bridge.host.events import HookEvent

    settings = Settings.from_environment()
    event = HookEvent.parse(data)
    if event is None:
        return HookOutput(last_word(event_name, state, data))
    if event.name != event_name:
        return SILENT
    if settings.off and event_name not in ("PreToolUse", "PermissionRequest"):
        # Requests of our agents are still refused.
        return SILENT
    from bridge.host import pins

    reader = pins.reader_for(settings)
    store = _find_store(settings, event, reader)
    if store is None:
        return SILENT
    with store.open() as opened:
        hook = _find_context(settings, opened, event, kind, reader)
        if hook is None:
            return SILENT
        output = _handler_of(event_name)(hook)
        if settings.debug:
            # The decision is printed even if the log fails.
            with suppress(OSError):
                _log_debug(hook, output)
    if output.later is None:
        return output
    # It is done by a process of its own, which opens the state anew.
    return output.then(partial(output.later, replace(hook, store=store)))


def _handler_of(event_name: str) -> Callable[[HookContext], HookOutput]:
    """The function that answers an event; imports only what it needs."""
    if event_name in ("FileChanged", "PostToolUse"):
        from bridge.host.offer_events import HANDLERS
    elif event_name in ("SessionStart", "CwdChanged", "SessionEnd"):
        from bridge.host.session_events import HANDLERS
    elif event_name in ("UserPromptSubmit", "Stop", "StopFailure"):
        from bridge.host.turn_events import HANDLERS
    else:
        from bridge.host.tool_events import HANDLERS
    return HANDLERS.get(event_name, lambda _hook: SILENT)


def _find_store(settings: Settings, event: HookEvent, reader: Pins) -> Store | None:
    """The store of the session; None if its client cannot be identified."""
    from pathlib import Path

    from bridge.host import pins
    from bridge.protocol.ids import is_id
    from bridge.store.host_process import identify
    from bridge.store.location import locate
    from bridge.store.store import Store

    session_id = event.text("session_id")
    host = identify(settings.host_pid or os.getppid())
    if host is None or not is_id(session_id):
        return None
    starts = event.name == "SessionStart" and event.text("source") == "startup"
    place = pins.find(reader, session_id, host, starts=starts)
    return Store(
        place
        or locate(settings, settings.project_dir or Path(event.text("cwd") or ".")),
        lock_wait_s=PATIENT_LOCK_WAIT_S if event.name in _PATIENT else LOCK_WAIT_S,
        lease_s=settings.lease_s,
    )


def _find_context(
    settings: Settings, store: Store, event: HookEvent, kind: str, reader: Pins
) -> HookContext | None:
    """Find the session; an unknown one is registered. None if it is not ours."""
    from bridge.host import pins
    from bridge.host.context import HookContext
    from bridge.store import sessions
    from bridge.store.host_process import identify

    host = identify(settings.host_pid or os.getppid())
    if host is None or (kind and not pins.own(reader, store, event, kind, host)):
        return None
    session = sessions.find_session(store, event.text("session_id"), host)
    starts = event.name == "SessionStart"
    if starts and event.agent_id:
        # The conversation of an agent was compacted: no session starts.
        return HookContext(settings, store, event, session) if session else None
    if session is None or starts:
        from bridge.host import registration
        from bridge.host.carrier import known_at_start

        carrier = known_at_start(settings, event, kind)
        session = registration.register(store, event, host, carrier)
    return HookContext(settings, store, event, session)


def _log_failure(event_name: str) -> None:
    """Log what went wrong, for `hostbridge doctor`; bounded, and never an error."""
    try:
        from bridge.store.location import Place, check

        if not _is_fault(sys.exception(), event_name):
            return
        home = Settings.from_environment().home
        # In another user's folder, that user could read the paths.
        check(Place(home, home, home, "our own folder"))
        _append_log(home / "hook-errors.log", f"{event_name}\n{traceback.format_exc()}")
    except Exception:  # noqa: BLE001, S110 - there is nowhere left to complain
        pass


def _is_fault(error: BaseException | None, event_name: str) -> bool:
    """Whether there is anything to fix.

    If the lock is busy, the next event does the work, unless there is none. If somebody
    removes the state directory meanwhile, there is nothing left to do.
    """
    from bridge.errors import StateVanished
    from bridge.store.lock import LockBusy

    if isinstance(error, LockBusy):
        return event_name in _PATIENT
    return not isinstance(error, StateVanished)


def _log_debug(hook: HookContext, output: HookOutput) -> None:
    event = hook.event
    fields = {
        key: event.raw[key]
        for key in ("session_id", "agent_id", "tool_name", "tool_use_id", "source")
        if key in event.raw
    }
    answer = (output.stdout.decode() or output.stderr)[:2000]
    line = f"{event.name} {fields} -> exit {output.exit_code} {answer}\n"
    _append_log(hook.store.place.state / "debug.log", line)


def _append_log(path: Path, text: str) -> None:
    import time

    name = os.fspath(path)
    if os.path.exists(name) and os.path.getsize(name) > MAX_LOG_BYTES:
        os.replace(name, f"{name}.1")
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    fd = os.open(name, flags, 0o600)
    try:
        os.write(fd, f"{stamp} {text}".encode("utf-8", "replace"))
    finally:
        os.close(fd)
