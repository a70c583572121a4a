"""The state directory: where, whose, writable; whether locks lock; what went wrong."""

from __future__ import annotations

import errno
import os
import re
import stat
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from bridge.doctor.finding import Finding, ok, problem, warning
from bridge.errors import BridgeError
from bridge.store.location import check
from bridge.store.quarantine import all_put_aside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.doctor.subject import Subject
    from bridge.store.directory import Folder
    from bridge.store.store import Store

_MIB = 1024 * 1024
_LITTLE_MIB, _HARDLY_MIB = 200, 5
_PROBE = "doctor.lock"
_TRY_LOCK = """
import fcntl, os, sys
try:
    fcntl.flock(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    sys.exit(9)
"""
_REFUSED = 9
_ENTRY = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d ", re.MULTILINE)
_LOG_TAIL = 64 * 1024


def directory(subject: Subject) -> Iterator[Finding]:
    """Whether the state directory is there, ours, writable, with room."""
    store = subject.store()
    if store is None:
        yield problem(
            "state",
            subject.refusal,
            cause="requests and answers would not be safe there",
            cure="as it says",
        )
        return
    place = store.place
    try:
        mode, room = _try_out(store)
    except BridgeError as exc:
        yield problem(
            "state",
            str(exc),
            cause="requests and answers would not be safe there",
            cure="as it says",
        )
        return
    except OSError as exc:
        yield problem(
            "state",
            f"{place.state}: {os.strerror(exc.errno or 0).lower()}",
            cause="hooks and commands must be able to read and write there",
            cure=f"see `ls -ld {place.state}`, `df {place.guard}`; or set BRIDGE_HOME",
        )
        return
    free_mib = room.f_bavail * room.f_frsize // _MIB
    found = f"{place.state} ({place.reason}); {mode}, {free_mib:,} MiB free"
    if free_mib >= _LITTLE_MIB:
        yield ok("state", found)
        return
    report = problem if free_mib < _HARDLY_MIB else warning
    yield report(
        "state",
        found,
        cause="the disk is nearly full; then requests are refused",
        cure="make room; `hostbridge prune` removes finished requests",
    )


def _try_out(store: Store) -> tuple[str, os.statvfs_result]:
    """Whose it is and whether one can write there; the room around it.

    What is not there yet is not made for that: its place is looked at.
    """
    place = store.place
    if store.exists():
        with store.state() as state:
            folder = state.directory
            folder.remove(folder.prepare("doctor", b"x"))
            facts = os.fstat(folder.fd)
            mode = f"mode {stat.S_IMODE(facts.st_mode):04o}, yours, writable"
            return mode, os.statvfs(folder.fd)
    check(place)
    above = next(folder for folder in place.state.parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES if above.is_dir() else errno.ENOTDIR, str(above))
    return "not there yet: nothing was ever asked here", os.statvfs(above)


def locks(subject: Subject) -> Iterator[Finding]:
    """Whether a second process is refused a lock that the first one holds."""
    import fcntl

    store = subject.store()
    if store is None or not store.exists():
        return
    with store.state() as state, state["locks"] as folder:
        fd = os.open(
            _PROBE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=folder.fd
        )
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            second = subprocess.run(
                [sys.executable, "-IS", "-c", _TRY_LOCK, f"{folder.path}/{_PROBE}"],
                capture_output=True,
                check=False,
                timeout=20,
            )
        except OSError as exc:
            yield _no_flock(folder, os.strerror(exc.errno or 0).lower())
            return
        finally:
            os.close(fd)
            folder.remove(_PROBE)
    if second.returncode != _REFUSED:
        yield _no_flock(folder, "two processes held one lock")
        return
    yield from _store_lock(store)


def _no_flock(folder: Folder, why: str) -> Finding:
    return problem(
        "locks",
        f"flock does not work in {folder.path}: {why}",
        cause="the file system (a network share, perhaps) has no kernel locks",
        cure="set BRIDGE_HOME to a folder on a local file system",
    )


def _store_lock(store: Store) -> Iterator[Finding]:
    begun = time.monotonic()
    try:
        with store.exclusive():
            took_ms = (time.monotonic() - begun) * 1000
    except BridgeError as exc:
        yield problem(
            "locks",
            str(exc),
            cause="whoever holds it is stopped, or stuck in a slow file system",
            cure="end that process; the kernel then frees the lock",
        )
    else:
        yield ok("locks", f"flock works; the store's lock was free ({took_ms:.0f} ms)")


def quarantine(subject: Subject) -> Iterator[Finding]:
    """Files that nobody could read."""
    store = subject.store()
    if store is None or not store.place.state.is_dir():
        return
    with store.state() as state, state["quarantine"] as folder:
        newest = max(all_put_aside(folder), key=lambda aside: aside.at, default=None)
        count = sum(not name.endswith(".reason") for name in os.listdir(folder.fd))
        path = folder.path
    if not count:
        yield ok("quarantine", "empty")
        return
    why = f"{newest.origin}: {newest.why}" if newest else "no reason is known"
    yield warning(
        "quarantine",
        f"{count} file{'s' if count > 1 else ''} in {path}; the newest: {why}",
        cause="a program wrote what is not a request, or a disk lost part of a file",
        cure="each has its reason beside it (*.reason); remove what you do not need",
    )


def hook_errors(subject: Subject) -> Iterator[Finding]:
    """What went wrong inside our hooks, and was kept from the session."""
    path = subject.settings.home / "hook-errors.log"
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        yield ok("hook errors", "none were logged")
        return
    with open(fd, "rb") as file:
        file.seek(max(0, os.fstat(fd).st_size - _LOG_TAIL))
        text = file.read().decode("utf-8", "replace")
    starts = [match.start() for match in _ENTRY.finditer(text)]
    if not starts:
        yield ok("hook errors", f"none in {path}")
        return
    newest = text[starts[-1] :].strip().splitlines()
    yield warning(
        "hook errors",
        f"{len(starts)} in {path}; the newest, {newest[0]}: {newest[-1]}",
        cause="a hook failed; the session went on without it",
        cure="unless something else said here explains it, report it with that log; "
        "then remove the log",
    )
