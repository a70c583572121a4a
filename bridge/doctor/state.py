"""The state directory: where, whose, writable; whether locks lock; what went wrong."""

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack

from bridge.doctor.finding import Finding, ok, problem, warning
from bridge.doctor.subject import Subject
from bridge.errors import BridgeError
from bridge.store.directory import Folder
from bridge.store.location import check
from bridge.store.plain_file import open_plain
from bridge.store.records import all_put_aside
from bridge.store.store import Store

_MIB = 1024 * 1024
_LOW_MIB, _TOO_LOW_MIB = 200, 5
_PROBE = "doctor.lock"
_ENTRY = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d ", re.MULTILINE)
_LOG_TAIL = 64 * 1024


def directory(subject: Subject) -> Iterator[Finding]:
    """Whether the state directory is there, safe, writable, with free space."""
    try:
        store = subject.store()
        if store is None:
            raise BridgeError(subject.refusal)  # noqa: TRY301 - reported like any other
        place = store.place
        mode, disk = _try_out(store)
    except BridgeError as exc:
        cause = "requests and answers would not be safe there"
        yield problem(str(exc), cause, "see to what `state` says, then look again")
        return
    except OSError as exc:
        yield problem(
            f"{place.state}: {os.strerror(exc.errno or 0).lower()}",
            "hooks and commands must be able to read and write there",
            f"see `ls -ld {place.state}`, `df {place.guard}`; or set BRIDGE_HOME",
        )
        return
    free_mib = disk.f_bavail * disk.f_frsize // _MIB
    found = f"{place.state} ({place.reason}); {mode}, {free_mib:,} MiB free"
    if free_mib >= _LOW_MIB:
        yield ok(found)
        return
    report = problem if free_mib < _TOO_LOW_MIB else warning
    cause = "the disk is nearly full; when it is full, requests are refused"
    cure = "make space; `hostbridge prune` removes finished requests"
    yield report(found, cause, cure)


def _try_out(store: Store) -> tuple[str, os.statvfs_result]:
    """Who owns the state directory, whether it can be written, and its file system.

    A missing one is not made for this: the folder that would hold it is examined.
    """
    place = store.place
    if store.exists():
        with store.state() as state:
            folder = state.directory
            folder.remove(folder.prepare("doctor", b"x"))
            mode = stat.S_IMODE(os.fstat(folder.fd).st_mode)
            return f"mode {mode:04o}, yours, writable", os.statvfs(folder.fd)
    check(place)
    above = next(folder for folder in place.state.parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES if above.is_dir() else errno.ENOTDIR, str(above))
    return "not there yet: nothing was ever asked here", os.statvfs(above)


def locks(subject: Subject) -> Iterator[Finding]:
    """Whether a lock can be held only once, and whether the store's lock is free."""
    store = subject.store()
    if store is None or not store.exists():
        return
    why = ""
    with store.state() as state, state["locks"] as folder:
        try:
            if _locks_twice(folder):
                why = "one lock was held twice"
        except OSError as exc:
            why = os.strerror(exc.errno or 0).lower()
    if why:
        yield problem(
            f"flock does not work in {folder.path}: {why}",
            "the file system (a network share, perhaps) has no kernel locks",
            "set BRIDGE_HOME to a folder on a local file system",
        )
        return
    begun = time.monotonic()
    try:
        with store.exclusive():
            took_ms = (time.monotonic() - begun) * 1000
    except BridgeError as exc:
        cause = (
            "that process is stopped, stuck in a slow file system, or the fork of one "
            "that held the lock"
        )
        cure = "end the process that holds the lock; that frees it"
        yield problem(str(exc), cause, cure)
    else:
        yield ok(f"flock works; the store's lock was free ({took_ms:.0f} ms)")


def _locks_twice(folder: Folder) -> bool:
    """Whether a file that is locked can be locked again through a second descriptor."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    with ExitStack() as stack:
        stack.callback(folder.remove, _PROBE)
        for _ in range(2):
            fd = os.open(_PROBE, flags, 0o600, dir_fd=folder.fd)
            stack.callback(os.close, fd)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
    return True


def quarantine(subject: Subject) -> Iterator[Finding]:
    """Files that could not be read."""
    store = subject.store()
    if store is None or not store.place.state.is_dir():
        return
    with store.state() as state, state["quarantine"] as folder:
        newest = max(all_put_aside(folder), key=lambda aside: aside.at, default=None)
        count = sum(not name.endswith(".reason") for name in os.listdir(folder.fd))
        path = folder.path
    if not count:
        yield ok("empty")
        return
    why = f"{newest.origin}: {newest.why}" if newest else "no reason is known"
    yield warning(
        f"{count} file{'s' if count > 1 else ''} in {path}; the newest: {why}",
        "a program wrote something that is not a request, or a disk lost part of a "
        "file",
        f"read the reasons in {path}/*.reason; remove the files that you do not need",
    )


def hook_errors(subject: Subject) -> Iterator[Finding]:
    """What went wrong inside our hooks, and was kept from the session."""
    path = subject.settings.home / "hook-errors.log"
    try:
        file = open_plain(path, links=False)
    except FileNotFoundError:
        yield ok("none were logged")
        return
    with file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _LOG_TAIL))
        text = file.read().decode("utf-8", "replace")
    starts = [match.start() for match in _ENTRY.finditer(text)]
    if not starts:
        yield ok(f"none in {path}")
        return
    newest = text[starts[-1] :].strip().splitlines()
    yield warning(
        f"{len(starts)} in {path}; the newest, {newest[0]}: {newest[-1]}",
        "a hook failed; the session went on without it",
        f"unless another finding explains the newest, report it; then remove {path}",
    )


def cleaned(subject: Subject) -> Iterator[Finding]:
    """When old records were removed last, and what would go now."""
    store, settings = subject.store(), subject.settings
    if store is None or not store.exists():
        return
    from bridge.api.clean_up import clean
    from bridge.store.cleaning import last

    days, mib = settings.keep_days, settings.keep_mib
    limits = [f"{days:,} days"] * bool(days) + [f"{mib:,} MiB"] * bool(mib)
    if not limits:
        yield ok("nothing is removed by itself (keep_days and keep_mib are 0)")
        return
    found = last(store)
    told = f"{found.ago_s / 3600:,.0f} h ago" if found else "never yet"
    gone = clean(store, settings, dry_run=True)
    assert gone is not None  # noqa: S101 - a dry run waits for nobody
    takes = f"{gone.requests:,} requests, {gone.freed_bytes / _MIB:.1f} MiB"
    if found and found.worktrees:
        told += f", which removed the worktrees {', '.join(found.worktrees)}"
    yield ok(
        f"cleaned up {told}; keeps {' and '.join(limits)} (keep_days, keep_mib); the "
        f"next time takes {takes}"
    )


def worktrees(subject: Subject) -> Iterator[Finding]:
    """Worktrees and branches of runs that have ended."""
    store = subject.store()
    if store is None:
        return
    from bridge.worktrees.leftovers import free, leftovers

    kept = free(store, dry_run=True).kept
    for each in kept:
        cause = f"its run {each.run} was cancelled or removed, and this is still needed"
        yield warning(f"kept: {each.holds}", cause, "; ".join(each.ways))
    folders = {each.folder for each in kept}
    for each in leftovers(store):
        if each.folder not in folders:
            found = f"{each.folder}, with its branch {each.branch}"
            how = f"is {each.status}" if each.status else "is no longer on record"
            if each.status == "completed":
                yield ok(f"{found}, of run {each.run}; to remove it: {each.ways[0]}")
            else:
                yield warning(found, f"its run {each.run} {how}", each.ways[0])


def checkouts(subject: Subject) -> Iterator[Finding]:
    """Checkouts of what was staged that a kill has left in `.git/worktrees`."""
    store = subject.store()
    if store is None:
        return
    # Late: it takes the library for git's files.
    from bridge.worktrees.checkouts import left_behind

    if left := [str(each.folder) for each in left_behind(store)]:
        found = f"left of `hostbridge validate --staged`: {', '.join(left)}"
        cause = "what made them was killed, or their run was cancelled"
        yield warning(found, cause, "hostbridge prune")
