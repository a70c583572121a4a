"""How a submit wakes an idle session: a file `wake` in a folder its client watches.

A session at a terminal is rung beside that (bridge/ring.py), which is quicker;
whoever answers first takes the file away.

Each host process watches a folder of its own, `bell/<pid>-<digest>/`; a new file `wake`
in it makes the client run our FileChanged hook, which unlinks the file before it looks
for requests. One folder for each process: with a shared one, the first session to
answer would clear the signal for the others. A watched folder is never removed while
its process lives: the watcher would not notice a new one.

The client reports changes only: a file that was there before its watch is never
reported. So if the file is there already, it gets a new time, which the client sees as
a change. Not within `QUIET_S` of the last signal, because the client waits until the
file has been still for half a second. The access time stays: it says since when nobody
has answered.

Source: measured on Claude Code 2.1.330: 60 requests in 3 s gave 5 wakes and left
nothing. A new time, new content and a file renamed over the old one are each reported
after 0.6 s; of removing and making it again the client sometimes misses the second
half. `/clear`, compaction, `--worktree` and EnterWorktree leave the watch alone.
"""

import os
import re
from collections.abc import Iterable
from contextlib import suppress

from bridge.errors import StateRefused, StateUnavailable
from bridge.protocol.claim import HostProcess
from bridge.protocol.digest import sha256_of
from bridge.protocol.ids import RequestId
from bridge.ring import RING, SIGNAL, listener, ring
from bridge.store.directory import Folder
from bridge.store.host_process import identify
from bridge.store.location import Place
from bridge.store.sessions import Session, live_sessions
from bridge.store.state import State
from bridge.store.store import Store

QUIET_S = 1.5
_NAME = re.compile(r"([0-9]{1,10})-[0-9a-f]{12}\Z")


def folder_name(host: HostProcess) -> str:
    """The name of the folder that this process watches."""
    birth = sha256_of(f"{host.start_time} {host.boot}".encode())
    return f"{host.pid}-{birth[:12]}"


def path_of(place: Place, host: HostProcess) -> str:
    """The folder that this process watches, whether it is there or not."""
    return f"{place.state}/bell/{folder_name(host)}"


def prepare(store: Store, host: HostProcess) -> str:
    """Make the folder that a process watches; returns its path."""
    with store.state() as state, state["bell"].folder(folder_name(host)) as folder:
        return folder.path


def set_ring(store: Store, host: HostProcess, *, may_ring: bool) -> None:
    """Make what a session may be rung by, or take it away; beforehand, who waits ends.

    A file system that has none does without.
    """
    with store.state() as state, state["bell"].folder(folder_name(host)) as folder:
        is_there = folder.has(RING)
        if may_ring and not is_there:
            with suppress(OSError):
                os.mkfifo(RING, 0o600, dir_fd=folder.fd)
        elif is_there and not may_ring:
            ring(folder.fd)
            folder.remove(RING)


def stand_down(store: Store, host: HostProcess) -> None:
    """Have nobody wait for a ring until a turn of the session has ended."""
    with store.state() as state, suppress(OSError):
        with state["bell"].folder(folder_name(host), make=False) as folder:
            ring(folder.fd)


def is_heard(store: State, host: HostProcess) -> bool:
    """Whether somebody waits for a ring of the session now."""
    fd = None
    if store.exists():
        with store.state(make=False) as state, suppress(OSError):
            with state["bell"].folder(folder_name(host), make=False) as folder:
                fd = listener(folder.fd)
    if fd is not None:
        os.close(fd)
    return fd is not None


def wake(store: Store, sessions: Iterable[Session], *, again: bool = False) -> None:
    """Signal each session, except one that was signalled just now.

    `again` signals only where nobody has answered the last signal. One that cannot be
    woken keeps none of the others asleep.
    """
    with store.state() as state:
        for session in sessions:
            with suppress(StateRefused, OSError):
                with state["bell"].folder(folder_name(session.host)) as folder:
                    _signal(folder, store.clock.now_us() * 1000, again=again)


def _signal(folder: Folder, now_ns: int, *, again: bool) -> None:
    facts = folder.facts(SIGNAL)
    if facts is None and again:
        return
    if facts is None and folder.touch(SIGNAL):
        ring(folder.fd)
        return
    facts = facts or folder.facts(SIGNAL)
    if facts is None or 0 <= now_ns - facts.st_mtime_ns < QUIET_S * 1_000_000_000:
        return
    _renew(folder, facts, now_ns)


def _renew(folder: Folder, facts: os.stat_result, now_ns: int) -> None:
    with suppress(FileNotFoundError):
        times = (facts.st_atime_ns, now_ns)
        os.utime(SIGNAL, ns=times, dir_fd=folder.fd, follow_symlinks=False)
        ring(folder.fd)


def ring_again(store: Store, host: HostProcess) -> bool:
    """Have a signal that is there reported anew; False when there is none."""
    with store.state() as state, state["bell"].folder(folder_name(host)) as folder:
        facts = folder.facts(SIGNAL)
        if facts is not None:
            _renew(folder, facts, store.clock.now_us() * 1000)
        return facts is not None


def unanswered_s(store: Store, host: HostProcess) -> float | None:
    """For how many seconds the signal has been there; None if there is none."""
    if not store.exists():
        return None
    with store.state() as state, suppress(OSError):
        facts = state["bell"].facts(f"{folder_name(host)}/{SIGNAL}")
        if facts:
            return max(0.0, store.clock.now_us() / 1_000_000 - facts.st_atime)
    return None


def clear(store: Store, host: HostProcess) -> bool:
    """Take the signal away; False when there was none."""
    with store.state() as state, state["bell"].folder(folder_name(host)) as folder:
        return folder.remove(SIGNAL)


def remove_gone(store: Store) -> int:
    """Remove the folders of processes that are gone; how many.

    A process of another PID namespace cannot be seen from here. It counts as alive as
    long as one of its sessions does; where none is on record, for `store.lease_s`
    seconds
    after the folder's last change.
    """
    if not store.exists():
        return 0
    with store.open() as opened:
        kept = {folder_name(s.host) for s in live_sessions(opened)}
        oldest_s = store.clock.now_us() / 1_000_000 - store.lease_s
        with opened.state() as state, state.hold():
            folders = state["bell"]
            entries = list(folders.entries())
            names = [e.name for e in entries if e.is_dir(follow_symlinks=False)]
            return sum(
                name not in kept
                and not _is_of_a_running_process(name)
                and _remove(folders, name, oldest_s)
                for name in names
            )


def _is_of_a_running_process(name: str) -> bool:
    named = _NAME.match(name)
    host = identify(int(named[1])) if named else None
    # A name that is not of this form is nobody's to remove.
    return named is None or (host is not None and folder_name(host) == name)


def _remove(folders: Folder, name: str, oldest_s: float) -> bool:
    """Remove a folder that has not changed since; False when it is still there."""
    with folders.folder(name) as folder:
        if os.fstat(folder.fd).st_mtime > oldest_s:
            return False
        folder.remove(SIGNAL)
        folder.remove(RING)
    with suppress(OSError):
        os.rmdir(name, dir_fd=folders.fd)
        return True
    return False


def sweep(store: Store, *, waiting: Iterable[RequestId] = ()) -> int:
    """As `Store.sweep`; if something changed, wake the sessions for what waits.

    A killed host tells nobody. The next program that looks gives back what it held; the
    open sessions may be idle, and would not look by themselves.
    """
    changed = store.sweep(waiting=waiting)
    if changed:
        wake_all(store)
    return changed


def wake_all(store: Store) -> None:
    """Wake every open session if anything waits: each takes what it may.

    A failed wake-up only costs time.
    """
    with suppress(StateUnavailable, StateRefused):
        if store.has_waiting():
            wake(store, live_sessions(store))
