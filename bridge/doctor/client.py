"""The Claude Code client, and its list of sessions compared with ours."""

import json
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from bridge.bound.budgets import about, cure_of, find_spent, uses_of
from bridge.doctor.finding import Finding, ok, warning
from bridge.doctor.subject import Subject
from bridge.host.wake_problems import JUST_STARTED, WakeProblem, find_wake_problem
from bridge.protocol.request import Uptime
from bridge.protocol.wording import in_shell
from bridge.store import switch, wakeups
from bridge.store.clock import uptime
from bridge.store.location import find_owner
from bridge.store.sessions import Session
from bridge.store.switch import Off

# The version on which the client's behaviour was measured.
KNOWN_VERSION = "2.1.332"
_TIMEOUT_S = 15


def version(subject: Subject) -> Iterator[Finding]:
    """Which client is on PATH."""
    program = _program(subject)
    if program is None:
        found = "no `claude` on PATH"
        if subject.live_sessions():
            yield ok(f"{found}; the open sessions do not need it")
            return
        yield warning(
            found,
            "Claude Code is not installed, or only inside an editor, which is enough",
            "install Claude Code; or open a session in the editor: hostbridge status "
            "lists it from its first message on",
        )
        return
    number = version_of(subject, program) or "no version"
    is_known = number == KNOWN_VERSION
    note = "" if is_known else f" (hostbridge knows {KNOWN_VERSION} best)"
    yield ok(f"{program} {number}{note}")


def version_of(subject: Subject, program: str) -> str:
    """The version number that a client prints; empty if it prints none."""
    words = _ask(subject, program, "--version").split()
    return words[0] if words else ""


def open_sessions(subject: Subject) -> Iterator[Finding]:
    """Which sessions could answer a request."""
    store = subject.store()
    if store is None:
        return
    ours = subject.live_sessions()
    program = _program(subject)
    yield from judge_sessions(
        ours,
        _listed(subject, program) if program else [],
        off=switch.switched_off(store),
        unheard={s.session_id: find_wake_problem(store, s) for s in ours},
        ringing={s.session_id for s in ours if wakeups.is_heard(store, s.host)},
        now=uptime(store.clock),
        project=str(subject.project),
    )


def judge_sessions(
    ours: list[Session],
    theirs: list[dict[str, Any]],
    *,
    off: Off,
    unheard: Mapping[str, WakeProblem | None],
    ringing: Collection[str],
    now: Uptime,
    project: str,
) -> Iterator[Finding]:
    """Compare our records with the client's list.

    `unheard` says why a session cannot be woken, `ringing` which are woken at once.
    """
    for session in ours:
        how = " at once" if session.session_id in ringing else ""
        yield _session(session, unheard.get(session.session_id), how, off, now)
    known = {session.host.pid for session in ours}
    unknown = [each for each in theirs if each.get("pid") not in known]
    for each in unknown:
        yield warning(
            f"{each.get('sessionId')} (pid {each.get('pid')}) is open in this project, "
            "but no hook of ours has run in it",
            "it was opened before the install and has been idle since, does not read "
            "these settings, has BRIDGE_OFF set, or is itself a request's agent",
            f"type anything into {each.get('sessionId')}, or restart it; /hooks shows "
            "what it runs",
        )
    if not ours and not unknown:
        yield warning(
            f"none is open in {project}",
            "a request waits until one is; `ask` fails at once",
            f"{in_shell('cd', project)} && claude",
        )


def _session(
    session: Session, why: WakeProblem | None, how: str, off: Off, now: Uptime
) -> Finding:
    found = f"{session.session_id} (pid {session.host.pid})"
    if off.is_everything:
        return ok(f"{found} is open; hostbridge is off here (see `switch`)")
    if session.session_id in off:
        cure = f"hostbridge on --session {session.session_id}"
        return warning(f"{found} is switched off", "`hostbridge off --session`", cure)
    if spent := find_spent(session, now):
        return warning(f"{found} may start no agent now", spent.why, spent.cure)
    for use in uses_of(session, now):
        if use.is_near:
            near = f"{found} has used {use.percent} % of a budget"
            return warning(near, about(session, use), cure_of(session, use))
    if why is None:
        return ok(f"{found} takes requests and wakes from idle{how}")
    if why is JUST_STARTED:
        return ok(f"{found} {why.what}: {why.cause}")
    found += f" takes requests, but does not wake from idle: it {why.what}"
    return warning(found, why.cause, why.cure)


def _listed(subject: Subject, program: str) -> list[dict[str, Any]]:
    """The client's own list of sessions in this project."""
    try:
        listed = json.loads(_ask(subject, program, "agents", "--json"))
    except ValueError:
        return []
    owner = find_owner(subject.project)
    return [
        each
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, dict)
        and isinstance(each.get("cwd"), str)
        and find_owner(Path(each["cwd"])) == owner
    ]


def _program(subject: Subject) -> str | None:
    return shutil.which("claude", path=subject.env.get("PATH"))


def _ask(subject: Subject, program: str, *arguments: str) -> str:
    try:
        done = subprocess.run(
            [program, *arguments],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=dict(subject.env),
            # In the project the client would read its settings.
            cwd="/",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")
