"""Bells: how a submit wakes an idle session.

Each host process watches a folder of its own, `bell/<pid>-<digest>/`; a new file `wake`
in it makes the client run our FileChanged hook, which unlinks the file before it looks
for requests. One folder a process: with a shared one, the first session to answer the
bell would silence it for the others. A watched folder is never removed while its
process lives: made again, it would be dead to the watcher.

The client reports changes only: a file that was there before its watch is never
reported. So a ring that finds the file gives it a new time, which the client sees as a
change. Not within `QUIET_S` of the last ring, because the client waits until the file
has been still for half a second. The access time stays: it says since when the bell has
been ringing without an answer.

Source: measured on Claude Code 2.1.330: 60 requests in 3 s gave 5 wakes and left
nothing. A new time, new content and a file renamed over the old one are each reported
after 0.6 s; of removing and making it again the client sometimes misses the second
half. `/clear`, compaction, `--worktree` and EnterWorktree leave the watch alone.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.errors import StateRefused
from bridge.store.host_process import identify

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.host.sessions import Session
    from bridge.protocol.request import HostProcess
    from bridge.store.directory import Folder
    from bridge.store.location import Place
    from bridge.store.store import Store

CLAPPER = "wake"
QUIET_S = 1.5
_NAME = re.compile(r"([0-9]{1,10})-[0-9a-f]{12}\Z")


def bell_name(host: HostProcess) -> str:
    """The name of the folder that this process watches."""
    birth = hashlib.sha256(f"{host.start_time} {host.boot}".encode()).hexdigest()
    return f"{host.pid}-{birth[:12]}"


def path_of(place: Place, host: HostProcess) -> str:
    """The folder that this process watches, whether it is there or not."""
    return f"{place.state}/bell/{bell_name(host)}"


def hang(store: Store, host: HostProcess) -> str:
    """Make the bell of a process; returns the folder's path."""
    with store.open_state() as state, state.folder("bell") as bells:
        with bells.folder(bell_name(host)) as bell:
            return bell.path


def ring(store: Store, sessions: Iterable[Session], *, again: bool = False) -> None:
    """Ring for each session; a bell that rang just now is left alone.

    `again` rings only where nobody has answered the last ring. A bell that cannot be
    rung keeps no other silent.
    """
    with store.open_state() as state, state.folder("bell") as bells:
        for session in sessions:
            with suppress(StateRefused, OSError):
                with bells.folder(bell_name(session.host)) as bell:
                    _ring(bell, store.clock.now_us() * 1000, again=again)


def _ring(bell: Folder, now_ns: int, *, again: bool) -> None:
    facts = bell.facts(CLAPPER)
    if facts is None and (again or bell.touch(CLAPPER)):
        return
    facts = facts or bell.facts(CLAPPER)
    if facts is None or 0 <= now_ns - facts.st_mtime_ns < QUIET_S * 1_000_000_000:
        return
    with suppress(FileNotFoundError):
        os.utime(
            CLAPPER,
            ns=(facts.st_atime_ns, now_ns),
            dir_fd=bell.fd,
            follow_symlinks=False,
        )


def ringing_s(store: Store, host: HostProcess) -> float | None:
    """For how long the bell has been ringing, in seconds; None when it is silent."""
    if not store.exists():
        return None
    with store.open_state() as state, state.folder("bell") as bells:
        try:
            facts = os.stat(
                f"{bell_name(host)}/{CLAPPER}", dir_fd=bells.fd, follow_symlinks=False
            )
        except OSError:
            return None
    return max(0.0, store.clock.now_us() / 1_000_000 - facts.st_atime)


def silence(store: Store, host: HostProcess) -> bool:
    """Stop the bell; False when it was not ringing."""
    with store.open_state() as state, state.folder("bell") as bells:
        with bells.folder(bell_name(host)) as bell:
            return bell.remove(CLAPPER)


def take_down(store: Store, *, lease_s: float) -> int:
    """Remove the bells of processes that are gone; how many.

    A process of another PID namespace cannot be seen from here. It counts as alive as
    long as one of its sessions does; where none is on record, for `lease_s` seconds
    after the bell's last change.
    """
    from bridge.host.sessions import live_sessions

    if not store.exists():
        return 0
    kept = {bell_name(s.host) for s in live_sessions(store, lease_s=lease_s)}
    oldest_s = store.clock.now_us() / 1_000_000 - lease_s
    with store.exclusive() as state, state.folder("bell") as bells:
        names = [e.name for e in bells.entries() if e.is_dir(follow_symlinks=False)]
        return sum(
            name not in kept
            and not _is_of_a_running_process(name)
            and _remove(bells, name, oldest_s)
            for name in names
        )


def _is_of_a_running_process(name: str) -> bool:
    told = _NAME.match(name)
    host = identify(int(told[1])) if told else None
    # What is no bell of ours is nobody's to remove.
    return told is None or (host is not None and bell_name(host) == name)


def _remove(bells: Folder, name: str, oldest_s: float) -> bool:
    """Remove one bell that has not changed since; False when it is still there."""
    with bells.folder(name) as bell:
        if os.fstat(bell.fd).st_mtime > oldest_s:
            return False
        bell.remove(CLAPPER)
    with suppress(OSError):
        os.rmdir(name, dir_fd=bells.fd)
        return True
    return False
