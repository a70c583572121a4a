"""Run the registered hooks in a scratch state: do they start, what do they cost?"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.doctor.finding import Finding, ok, problem, warning
from bridge.doctor.hooks import all_registered, is_the_users
from bridge.doctor.subject import Subject
from bridge.host.hook_table import HOOKS, POINTER, entries, form_of
from bridge.host.registration import WATCHING
from bridge.process.ending import how_it_ended
from bridge.shipped import hooks_folder

SESSION = "hostbridge-doctor"
TIMEOUT_S = 30
_ROUNDS = 9
# Of what a hook adds to the conversation. Source: measured on Claude Code 2.1.330.
CLIENT_CAP = 10_000
# More than starting a process costs on a machine that is not overloaded.
_SLOW_MS = 25.0


class HookFailed(Exception):
    """A hook did not do what the client needs of it; `str()` says what."""


def run(subject: Subject) -> Iterator[Finding]:
    """Start what the user registered, as the client would; else what is shipped."""
    places = [each for each in all_registered(subject) if is_the_users(subject, each)]
    for place in places:
        # The first command of each event: the one for any tool.
        commands = dict(reversed(list(place.commands())))
        yield _try(subject, f"--{place.target.kind}", commands, place.target.kind)
    if not places:
        form = form_of("local", hooks_folder(), sys.executable)
        shipped = {
            event: ["/bin/sh", *groups[0]["hooks"][0]["args"]]
            for event, groups in entries(form).items()
        }
        yield _try(subject, "as they would be registered", shipped, "local")


def _try(
    subject: Subject, name: str, argvs: dict[str, list[str]], kind: str
) -> Finding:
    again = f"hostbridge install --{kind}"
    if missing := sorted({hook.event for hook in HOOKS} - set(argvs)):
        found = f"{name}: nothing is registered for {', '.join(missing)}"
        cause = "another version registered the hooks, which hear nothing of that"
        return problem(found, cause, again)
    # A hook may still be at work there after it has answered.
    with tempfile.TemporaryDirectory(
        prefix="hostbridge-doctor-", ignore_cleanup_errors=True
    ) as scratch:
        try:
            idle_ms, floor_ms, offer = _rehearse(subject, argvs, Path(scratch))
        except HookFailed as exc:
            cause = "no session can be served by hooks that do not start"
            return problem(f"{name}: {exc}", cause, again)
    found = (
        f"{name}: they start; an idle tool call costs {idle_ms:.1f} ms, starting a "
        f"bare shell {floor_ms:.1f} ms (best of {_ROUNDS}); an offer has {offer:,} of "
        f"the {CLIENT_CAP:,} characters that the client lets through"
    )
    if idle_ms - floor_ms <= _SLOW_MS:
        return ok(found)
    cause = "the machine is busy, or the state lies on a slow file system"
    return warning(found, cause, "try again when the machine is idle; see `state`")


def _rehearse(
    subject: Subject, argvs: dict[str, list[str]], scratch: Path
) -> tuple[float, float, int]:
    """Start a session, make idle tool calls, offer requests.

    The time of a call, that of a bare shell, and the length of the offer.

    The best time of several: anything else on the machine only makes a run slower.
    """
    env = _environment(subject, scratch)
    _begin(_call(argvs["SessionStart"], "SessionStart", env), scratch)
    for event in sorted(argvs.keys() - {"SessionStart", "SessionEnd"}):
        said = _call(argvs[event], event, env)
        if event in WATCHING:
            if not _names_a_watch(event, said):
                raise HookFailed(f"{event} named no folder to watch")
        elif said:
            raise HookFailed(
                f"{event} printed something though it had nothing to do: {said[:200]}"
            )
    idle_ms = _best_ms(argvs["PostToolUse"], env)
    floor_ms = _best_ms(["/bin/sh", "-c", ":"], env)
    offer = _offer(_call(argvs["PostToolUse"], "PostToolUse", _with_requests(env)))
    _call(argvs["SessionEnd"], "SessionEnd", env)
    return idle_ms, floor_ms, offer


def _with_requests(env: dict[str, str]) -> dict[str, str]:
    """The environment, after requests were asked in it: as many as a session takes."""
    settings = Settings.from_environment(env)
    bridge = Bridge(settings, Path(env["CLAUDE_PROJECT_DIR"]))
    for _ in range(settings.slots):
        bridge.submit("Are you there?")
    return env


def _offer(said: str) -> int:
    """How long an offer is; whether the client shows the whole of it to the model."""
    output = _output("PostToolUse", said)
    length = len(output.get("hookSpecificOutput", {}).get("additionalContext", ""))
    if not length:
        raise HookFailed("PostToolUse offered nothing, though requests waited")
    if length >= CLIENT_CAP:
        raise HookFailed(
            f"an offer has {length:,} characters; the client cuts it at {CLIENT_CAP:,}"
        )
    return length


def _best_ms(argv: list[str], env: dict[str, str]) -> float:
    times = []
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        _call(argv, "PostToolUse", env)
        times.append(time.perf_counter() - begun)
    return min(times) * 1000


def _environment(subject: Subject, scratch: Path) -> dict[str, str]:
    """What the client would set, with a hostbridge home of its own."""
    home, project = scratch / "home", scratch / "project"
    home.mkdir(mode=0o700)
    # So that no repository around the scratch folder is the project.
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
    """Check that SessionStart names a folder to watch; if not, say why."""
    if _names_a_watch("SessionStart", said):
        return
    output = json.loads(said or "{}")
    if output.get("systemMessage"):
        raise HookFailed(str(output["systemMessage"]))
    log = scratch / "home" / "hook-errors.log"
    if log.is_file():
        raise HookFailed(log.read_text(errors="replace").strip().splitlines()[-1])
    raise HookFailed(
        "SessionStart printed nothing: its scripts or its Python are missing"
    )


def _names_a_watch(event: str, said: str) -> bool:
    output = _output(event, said)
    return bool(output.get("hookSpecificOutput", {}).get("watchPaths"))


def _output(event: str, said: str) -> dict[str, Any]:
    try:
        output: dict[str, Any] = json.loads(said or "{}")
    except ValueError:
        raise HookFailed(f"{event} did not print JSON: {said[:200]}") from None
    return output


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
        raise HookFailed(f"{event}: {how_it_ended(done.returncode)}: {words}")
    return done.stdout.decode(errors="replace")
