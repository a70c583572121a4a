"""One hook process: read the event, find its handler, say at most one thing.

Whatever goes wrong here is logged, and the user's own calls go on untouched; what an
agent of ours asks is denied (`gate.last_word`). Time is bounded by an alarm, output by
`reaction`. The handlers are in `handlers`.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.config import Settings
from bridge.host.gate import last_word, read_all
from bridge.host.output import SILENT, Reaction

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bridge.host.context import Scene
    from bridge.host.events import HookEvent

TIME_LIMIT_S = 20
LOCK_WAIT_S = 0.2
# An agent is launched once and ends once: what is not decided then can be decided by
# nobody. Everything else can wait for the next event.
PATIENT_LOCK_WAIT_S = 2.0
# What is done when the client has its answer.
LATER_LIMIT_S = 20
_PATIENT = frozenset({"PreToolUse", "SubagentStop"})
MAX_LOG_BYTES = 1024 * 1024


class _TooLong(BaseException):
    """The time is up; nothing that looks after errors on its way may keep it."""


def main() -> None:
    """Run the hook for the event named in argv; never returns."""
    reaction = SILENT
    data = b""
    event_name, kind, state = (*sys.argv[1:4], "", "", "")[:3]
    signal.signal(signal.SIGALRM, _too_long)
    # The scripts have set one that ends the process, and some of it may be used up.
    left = signal.getitimer(signal.ITIMER_REAL)[0] or TIME_LIMIT_S
    # Again and again: what is raised in a destructor is lost.
    signal.setitimer(signal.ITIMER_REAL, min(TIME_LIMIT_S, left), 1)
    try:
        data = read_all()
        reaction = react(data, event_name, kind, state)
    except (Exception, _TooLong):  # noqa: BLE001 - fails open, whatever it was
        # What follows may no longer be interrupted half way.
        signal.alarm(0)
        _log_failure(event_name)
        reaction = _say_even_so(event_name, state, data)
    signal.alarm(0)
    _emit(reaction)


def _too_long(_signal: int, _frame: object) -> None:
    raise _TooLong(f"the hook took more than {TIME_LIMIT_S} s")


def _say_even_so(event_name: str, state: str, data: bytes) -> Reaction:
    """What must be said although something failed."""
    said = last_word(event_name, state, data)
    if said or event_name not in ("SessionStart", "CwdChanged"):
        return Reaction(said)
    try:
        from bridge.host.events import HookEvent

        event = HookEvent.parse(data)
        return _watch(event) if event is not None else SILENT
    except Exception:  # noqa: BLE001 - there is no other way left
        return SILENT


def _watch(event: HookEvent) -> Reaction:
    """Name the bell, though it does not hang yet: no other event can name it.

    The client watches the nearest folder that is there until the bell is.
    """
    from pathlib import Path

    from bridge.host import pins
    from bridge.host.output import specific
    from bridge.store.host_process import identify
    from bridge.store.location import check, locate
    from bridge.store.wakeups import path_of

    settings = Settings.from_environment()
    host = identify(settings.host_pid or os.getppid())
    if settings.off or event.agent_id or host is None:
        return SILENT
    start = settings.project_dir or Path(event.text("cwd") or ".")
    found = pins.find(settings, event.text("session_id"), host)
    place = found or locate(settings, start)
    # Where others could ring nothing is watched.
    check(place)
    return specific(event.name, watchPaths=[path_of(place, host)])


def _emit(reaction: Reaction) -> None:
    """Print and leave at once: nothing may come after the one document."""
    try:
        if reaction.stderr:
            os.write(2, reaction.stderr.encode())
        view = memoryview(reaction.stdout)
        while view:
            view = view[os.write(1, view) :]
    except OSError:
        pass
    if reaction.later is not None:
        _do_later(reaction.later)
    os._exit(reaction.exit_code)


def _do_later(later: Callable[[], None]) -> None:
    """Do it in a process of its own; the client waits for this one.

    It takes whoever holds stdout for a hook that goes on.
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


def react(data: bytes, event_name: str, kind: str = "", state: str = "") -> Reaction:
    """Decide what to answer to one event; everything but stdin and stdout.

    `kind` is the install that registered the hook: of several, one acts for a session.
    `state` is where its shell half has found the state.
    """
    from bridge.host.events import HookEvent

    settings = Settings.from_environment()
    event = HookEvent.parse(data)
    if event is None:
        return Reaction(last_word(event_name, state, data))
    if event.name != event_name:
        return SILENT
    if settings.off and event_name not in ("PreToolUse", "PermissionRequest"):
        # What our agents ask is still refused.
        return SILENT
    scene = _scene(settings, event, kind)
    if scene is None:
        return SILENT
    from bridge.host.handlers import HANDLERS

    handler = HANDLERS.get(event_name)
    reaction = handler(scene) if handler else SILENT
    if settings.debug:
        # What has been decided is said, whatever becomes of the log.
        with suppress(OSError):
            _log_debug(scene, reaction)
    return reaction


def _scene(settings: Settings, event: HookEvent, kind: str) -> Scene | None:
    """Find the store and the session; an unknown session is registered."""
    from pathlib import Path

    from bridge.host import pins, registration
    from bridge.host.context import Scene
    from bridge.protocol.ids import is_id
    from bridge.store import sessions
    from bridge.store.host_process import identify
    from bridge.store.location import locate
    from bridge.store.store import Store

    session_id = event.text("session_id")
    host = identify(settings.host_pid or os.getppid())
    if host is None or not is_id(session_id):
        return None
    starts = event.name == "SessionStart" and event.text("source") == "startup"
    place = pins.find(settings, session_id, host, starts=starts)
    store = Store(
        place
        or locate(settings, settings.project_dir or Path(event.text("cwd") or ".")),
        lock_wait_s=PATIENT_LOCK_WAIT_S if event.name in _PATIENT else LOCK_WAIT_S,
        lease_s=settings.lease_s,
    )
    if kind and not pins.own(store, event, kind, host):
        return None
    session = sessions.find_session(store, session_id, host)
    starts = event.name == "SessionStart"
    if starts and event.agent_id:
        # The conversation of an agent was compacted: no session begins.
        return Scene(settings, store, event, session) if session else None
    if session is None or starts:
        from bridge.host.carrier import known_at_start

        carrier = known_at_start(settings, event, kind)
        session = registration.register(store, event, host, carrier)
    return Scene(settings, store, event, session)


def _log_failure(event_name: str) -> None:
    """Keep what went wrong, for `hostbridge doctor`; bounded, and never an error."""
    try:
        from bridge.store.location import Place, check

        home = Settings.from_environment().home
        # In another user's folder the paths would be theirs to read.
        check(Place(home, home, home, "our own folder"))
        _append_log(home / "hook-errors.log", f"{event_name}\n{traceback.format_exc()}")
    except Exception:  # noqa: BLE001, S110 - there is nowhere left to complain
        pass


def _log_debug(scene: Scene, reaction: Reaction) -> None:
    event = scene.event
    told = {
        key: event.raw[key]
        for key in ("session_id", "agent_id", "tool_name", "tool_use_id", "source")
        if key in event.raw
    }
    answer = (reaction.stdout.decode() or reaction.stderr)[:2000]
    line = f"{event.name} {told} -> exit {reaction.exit_code} {answer}\n"
    _append_log(scene.store.place.state / "debug.log", line)


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
