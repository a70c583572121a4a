"""Run the registered hooks in a scratch state: do they start, what do they cost?"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.doctor.finding import Finding, ok, problem, warning
from bridge.doctor.hooks import Registered, all_registered
from bridge.host.hook_table import HOOKS, POINTER, entries, of_this_machine
from bridge.host.registration import WATCHING
from bridge.shipped import hooks_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.doctor.subject import Subject

SESSION = "hostbridge-doctor"
TIMEOUT_S = 30
_ROUNDS = 9
# Starting any process costs this on a machine that is not overloaded.
_SLOW_MS = 25.0


class HookFailed(Exception):
    """A hook did not do what the client needs of it; `str()` says what."""


def run(subject: Subject) -> Iterator[Finding]:
    """Start what is registered, as the client would; what is shipped, if nothing is."""
    places = all_registered(subject)
    for place in places:
        name = f"--{place.target.kind}"
        yield _try(subject, name, _by_event(place), place.target.kind)
    if not places:
        form = of_this_machine("local", hooks_folder(), sys.executable)
        shipped = {
            event: ["/bin/sh", *groups[0]["hooks"][0]["args"]]
            for event, groups in entries(form).items()
        }
        yield _try(subject, "as they would be registered", shipped, "local")


def _by_event(place: Registered) -> dict[str, list[str]]:
    """One argv for each event: the first, which is the one for any tool."""
    found: dict[str, list[str]] = {}
    for event, argv in place.commands():
        found.setdefault(event, argv)
    return found


def _try(
    subject: Subject, name: str, argvs: dict[str, list[str]], kind: str
) -> Finding:
    # What follows the answer of a hook may still be at work there.
    with tempfile.TemporaryDirectory(
        prefix="hostbridge-doctor-", ignore_cleanup_errors=True
    ) as scratch:
        try:
            idle_ms, floor_ms = _rehearse(subject, argvs, Path(scratch))
        except HookFailed as exc:
            return problem(
                "hooks run",
                f"{name}: {exc}",
                cause="no session can be served by hooks that do not start",
                cure=f"hostbridge install --{kind}; see also `python` above",
            )
    found = (
        f"{name}: they start; an idle tool call costs {idle_ms:.1f} ms, starting a "
        f"bare shell {floor_ms:.1f} ms (best of {_ROUNDS})"
    )
    if idle_ms - floor_ms > _SLOW_MS:
        return warning(
            "hooks run",
            found,
            cause="the machine is busy, or the state lies on a slow file system",
            cure="try again when it is idle; see `state` above",
        )
    return ok("hooks run", found)


def _rehearse(
    subject: Subject, argvs: dict[str, list[str]], scratch: Path
) -> tuple[float, float]:
    """Begin a session, make idle tool calls; the best time and a bare shell's.

    The best of several: whatever else the machine does only makes a run slower.
    """
    env = _environment(subject, scratch)
    missing = {hook.event for hook in HOOKS} - set(argvs)
    if missing:
        raise HookFailed(f"nothing is registered for {', '.join(sorted(missing))}")
    _begin(_call(argvs["SessionStart"], "SessionStart", env), scratch)
    for event in sorted(argvs.keys() - {"SessionStart", "SessionEnd"}):
        said = _call(argvs[event], event, env)
        if event in WATCHING:
            if not _names_a_bell(event, said):
                raise HookFailed(f"{event} named no folder to watch")
        elif said:
            raise HookFailed(
                f"{event} said something with nothing to say: {said[:200]}"
            )
    idle, floor = [], []
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        _call(argvs["PostToolUse"], "PostToolUse", env)
        idle.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        _call(["/bin/sh", "-c", ":"], "PostToolUse", env)
        floor.append(time.perf_counter() - begun)
    _call(argvs["SessionEnd"], "SessionEnd", env)
    return min(idle) * 1000, min(floor) * 1000


def _environment(subject: Subject, scratch: Path) -> dict[str, str]:
    """As the client would set it, with a home of ours that nobody uses."""
    home, project = scratch / "home", scratch / "project"
    home.mkdir(mode=0o700)
    # A project of its own, wherever the scratch folder lies.
    (project / ".git").mkdir(parents=True)
    pointer = subject.settings.home / POINTER
    if pointer.is_file():
        shutil.copy(pointer, home / POINTER)
    kept = {k: v for k, v in subject.env.items() if not k.startswith("BRIDGE_")}
    return {
        **kept,
        "BRIDGE_HOME": str(home),
        "CLAUDE_PROJECT_DIR": str(project),
        "CLAUDE_CODE_SESSION_ID": SESSION,
        "CLAUDE_PID": str(os.getpid()),
    }


def _begin(said: str, scratch: Path) -> None:
    """Check what SessionStart must say: words for the model, a folder to watch."""
    if _names_a_bell("SessionStart", said):
        return
    output = json.loads(said or "{}")
    if output.get("systemMessage"):
        raise HookFailed(str(output["systemMessage"]))
    log = scratch / "home" / "hook-errors.log"
    if log.is_file():
        raise HookFailed(log.read_text(errors="replace").strip().splitlines()[-1])
    raise HookFailed("SessionStart said nothing: its scripts or its Python are missing")


def _names_a_bell(event: str, said: str) -> bool:
    try:
        output: dict[str, Any] = json.loads(said or "{}")
    except ValueError:
        raise HookFailed(f"{event} did not say JSON: {said[:200]}") from None
    return bool(output.get("hookSpecificOutput", {}).get("watchPaths"))


def _call(argv: list[str], event: str, env: dict[str, str]) -> str:
    """Run one hook on a harmless event; what it printed."""
    stdin = {
        "session_id": SESSION,
        "hook_event_name": event,
        "cwd": env["CLAUDE_PROJECT_DIR"],
        "tool_name": "Doctor",
    }
    try:
        done = subprocess.run(
            argv,
            input=json.dumps(stdin).encode(),
            capture_output=True,
            env=env,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise HookFailed(f"{event} did not end within {TIMEOUT_S} s") from None
    except OSError as exc:
        raise HookFailed(f"{event}: {argv[0]}: {exc.strerror}") from None
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip()[-200:]
        raise HookFailed(f"{event} exited with {done.returncode}: {words}")
    return done.stdout.decode(errors="replace")
