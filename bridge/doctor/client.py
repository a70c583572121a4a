"""The Claude Code client, and its sessions against those that we know of."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.doctor.finding import Finding, ok, warning
from bridge.host.wake_problems import JUST_STARTED, why_unheard
from bridge.store import sessions, switch
from bridge.store.location import find_owner

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from bridge.doctor.subject import Subject
    from bridge.host.wake_problems import Unheard
    from bridge.store.sessions import Session

# What DESIGN's host contract was measured on.
KNOWN_VERSION = "2.1.330"
_TIMEOUT_S = 15


def version(subject: Subject) -> Iterator[Finding]:
    """Which client is on PATH."""
    program = _program(subject)
    if program is None:
        yield warning(
            "client",
            "no `claude` on PATH",
            cause="it may still be there, inside an editor or under another name",
            cure="install Claude Code, or look at its sessions there",
        )
        return
    number = version_of(subject, program) or "no version"
    note = (
        "" if number == KNOWN_VERSION else f" (hostbridge knows {KNOWN_VERSION} best)"
    )
    yield ok("client", f"{program} {number}{note}")


def version_of(subject: Subject, program: str) -> str:
    """The number that a client says of itself; empty where it says none."""
    words = _ask(subject, program, "--version").split()
    return words[0] if words else ""


def open_sessions(subject: Subject) -> Iterator[Finding]:
    """Who could answer a request."""
    store = subject.store()
    if store is None:
        return
    ours = sessions.live_sessions(store)
    off = switch.switched_off(store)
    program = _program(subject)
    theirs = _listed(subject, program) if program else None
    unheard = {s.session_id: why_unheard(store, s) for s in ours}
    yield from judge_sessions(
        ours, theirs, off=off, unheard=unheard, project=str(subject.project)
    )


def judge_sessions(
    ours: list[Session],
    theirs: list[dict[str, Any]] | None,
    *,
    off: Container[str],
    unheard: Mapping[str, Unheard | None],
    project: str,
) -> Iterator[Finding]:
    """Compare our records with the client's list, None where it gave none.

    `unheard` says of a session why it does not hear its bell.
    """
    for session in ours:
        found = f"{session.session_id} (pid {session.host.pid})"
        if session.session_id in off:
            yield warning(
                "session",
                f"{found} is switched off",
                cause="`hostbridge off --session`",
                cure=f"hostbridge on --session {session.session_id}",
            )
        elif (why := unheard.get(session.session_id)) is JUST_STARTED:
            yield ok("session", f"{found} {why.what}: {why.cause}")
        elif why is not None:
            yield warning(
                "session",
                f"{found} takes requests, but does not wake from idle: it {why.what}",
                cause=why.cause,
                cure=why.cure,
            )
        else:
            yield ok("session", f"{found} takes requests and wakes from idle")
    known = {session.host.pid for session in ours}
    unknown = [each for each in theirs or () if each.get("pid") not in known]
    for each in unknown:
        yield warning(
            "session",
            f"{each.get('sessionId')} (pid {each.get('pid')}) is open in this project, "
            "but no hook of ours has run in it",
            cause="it was opened before the install and is idle since, does not read "
            "these settings, has BRIDGE_OFF set, or is itself a request's agent",
            cure="type anything into it, or restart it; /hooks shows what it runs",
        )
    if not ours and not unknown:
        yield warning(
            "session",
            f"none is open in {project}",
            cause="a request waits until one is; `ask` fails at once",
            cure=f"cd {project} && claude",
        )


def _listed(subject: Subject, program: str) -> list[dict[str, Any]] | None:
    """The client's own list of sessions in this project; None when it gives none."""
    try:
        listed = json.loads(_ask(subject, program, "agents", "--json"))
    except ValueError:
        return None
    if not isinstance(listed, list):
        return None
    owner = find_owner(subject.project)
    return [
        each
        for each in listed
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
            # Not in the project: the client would read its settings.
            cwd="/",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")
