"""Break one operation at each of its system calls, and see what a fresh process finds.

A case is a child made by fork (everything is imported already), which waits until
strace has taken hold of it, then does one operation on a copy of a prepared state and
reports.
Only system calls of the operation are counted: strace begins at the child's first step.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import pickle
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import needs
import pytest
from storeworld import (
    START_US,
    FakeClock,
    answer,
    claim_all,
    claimant,
    dead_process,
    drop,
    path_of,
    request,
    store_in,
    take,
)

from bridge.errors import BridgeError
from bridge.protocol.ids import RequestId
from bridge.protocol.response import failed
from bridge.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PR_SET_PTRACER = 0x59616D61
_libc = ctypes.CDLL(None)

# What changes anything, or can fail with something else than "there is none".
FALLIBLE = (
    "openat", "mkdirat", "write", "fsync", "linkat", "renameat", "unlinkat", "flock",
)  # fmt: skip

# What changes anything outside of the process: files, locks, processes. A file that is
# opened counts if that may make or empty it.
CHANGES = (
    "openat", "mkdir", "mkdirat", "write", "writev", "pwrite64", "ftruncate",
    "fallocate", "fsync", "fdatasync", "link", "linkat", "symlink", "symlinkat",
    "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "utimensat",
    "chmod", "fchmod", "fchmodat", "flock", "fcntl", "clone", "clone3", "fork", "vfork",
    "execve", "kill", "connect", "exit_group",
)  # fmt: skip


def scratch() -> Path:
    """A new folder on the fastest file system there is; faults need no real disk."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))


@dataclass(frozen=True)
class Operation:
    """A state, and one thing to do in it.

    `prepare` makes the state; `act` is what is broken. `promised` are the requests that
    must come to an answer whatever happens to `act`.
    """

    name: str
    prepare: Callable[[Store], object]
    act: Callable[[Store], object]
    promised: frozenset[str]


# Made before anything is broken: who claims in a case is gone after it.
_dead = functools.cache(dead_process)


def _one_claimed(store: Store) -> None:
    store.submit(request("a"))
    store.claim(claimant(_dead()), 1, take)


def _mess(store: Store) -> None:
    """All that a sweep has to do with."""
    for name in ("back", "used-up", "answered"):
        store.submit(request(name, max_attempts=1 if name == "used-up" else 3))
    store.claim(claimant(_dead()), 9, take)
    store.submit(request("late", timeout=1))
    store.submit(request("unnamed"))
    path_of(store, "requests", "unnamed").rename(
        path_of(store, "processing", "unnamed")
    )
    held = {one.request_id: one for one in store.claimed()}
    store.publish(answer(held["answered"]), source="test")
    path_of(store, "done", "answered").rename(path_of(store, "processing", "answered"))
    drop(store, "requests", "broken.json", "{")


def _finished(store: Store) -> None:
    for name in ("old", "older"):
        store.submit(request(name, dedup_key=name))
        for mine in claim_all(store):
            store.publish(answer(mine), source="test")
            store.publish(answer(mine, "again"), source="test")
    store.submit(request("waiting"))
    with store.state() as state, state["requests"] as queue:
        queue.prepare("half.json", b"half")


def _publish(store: Store) -> object:
    (mine,) = store.claimed()
    return store.publish(answer(mine, "by the agent"), source="test")


def _cancel(store: Store) -> object:
    end = failed(request("a"), "cancelled", "by a person", now_ms=START_US // 1000)
    return store.publish(end, source="cancel")


def _give_back(store: Store) -> object:
    (mine,) = store.claimed()
    assert mine.claim is not None
    return store.give_back(RequestId("a"), mine.claim.host, lambda r: r)


def _fail(store: Store) -> object:
    """A try fails, with some last words; the request is to be tried again."""
    (mine,) = store.claimed()
    end = failed(mine, "empty_answer", "it is empty", now_ms=store.now_ms(), raw="…")
    return store.end_try(end, is_mine=lambda c: c == mine.claim, source="test")


def _prune(store: Store) -> object:
    later = FakeClock(time.time_ns() // 1000 + 10 * 86_400 * 1_000_000)
    return Store(store.place, clock=later, lock_wait_s=5).prune(older_than_days=1)


def _claim(store: Store) -> object:
    return [one.request_id for one in claim_all(store, _dead())]


def _fill(store: Store) -> None:
    store.submit(request("a"))
    store.submit(request("late", timeout=1))
    store.submit(request("b"))


def _submit(store: Store) -> object:
    return store.submit(request("new", dedup_key="k")).is_new


OPERATIONS = [
    Operation("submit", lambda s: s.submit(request("a")), _submit, frozenset("a")),
    Operation("first submit", lambda _: None, _submit, frozenset()),
    Operation("claim", _fill, _claim, frozenset(("a", "b", "late"))),
    Operation("publish", _one_claimed, _publish, frozenset("a")),
    Operation("cancel", lambda s: s.submit(request("a")), _cancel, frozenset("a")),
    Operation("give back", _one_claimed, _give_back, frozenset("a")),
    Operation("failed try", _one_claimed, _fail, frozenset("a")),
    Operation(
        "sweep",
        _mess,
        lambda s: s.sweep(everything=True),
        frozenset(("back", "used-up", "answered", "late", "unnamed")),
    ),
    Operation("prune", _finished, _prune, frozenset(("waiting",))),
]


@dataclass
class Outcome:
    """What became of one case."""

    status: str  # "returned", "raised" or "died"
    value: Any = None
    is_ours: bool = True
    message: str = ""


class Prepared:
    """A state made once, copied for each case."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.home = scratch()
        _dead()
        self._case: Path | None = None
        operation.prepare(self._store(self.home / "prepared"))

    def _store(self, folder: Path) -> Store:
        # The wall clock of the state: every request but `late` is within its time.
        clock = FakeClock(START_US + 1_000_000)
        return store_in(folder, clock=clock, lock_wait_s=1.0)

    def fresh(self) -> Store:
        """A copy of the state; the one before is removed."""
        self.clear()
        self._case = Path(tempfile.mkdtemp(dir=self.home))
        if (self.home / "prepared").exists():
            shutil.copytree(self.home / "prepared", self._case, dirs_exist_ok=True)
        return self._store(self._case)

    def broken(self, fault: str) -> tuple[Store, Outcome]:
        """Do the operation on a fresh copy while strace injects `fault`."""
        store = self.fresh()
        return store, run_broken(lambda: self.operation.act(store), "-e", fault)

    def killed(self) -> Iterator[tuple[str, Store, Outcome]]:
        """Kill the operation at each change that it makes: where, and what is left.

        A kill anywhere between two changes leaves what one at the second leaves.
        """
        store = self.fresh()
        for call, number in changes(lambda: self.operation.act(store)):
            fault = f"inject={call}:signal=KILL:when={number}"
            yield fault, *self.broken(fault)

    def calls(self) -> dict[str, int]:
        """The system calls that the operation makes."""
        store = self.fresh()
        return system_calls(lambda: self.operation.act(store))

    def clear(self) -> None:
        """Remove the copy."""
        if self._case is not None:
            shutil.rmtree(self._case)
            self._case = None


@contextlib.contextmanager
def prepared(operation: Operation) -> Iterator[Prepared]:
    """The state of an operation, for as many cases as one likes."""
    made = Prepared(operation)
    try:
        yield made
    finally:
        shutil.rmtree(made.home, ignore_errors=True)


def start(act: Callable[[], object], limits: Callable[[], object] | None = None):
    """Fork a child that will do `act` when it is told to; pid, go-pipe, report-pipe."""
    go_out, go_in = os.pipe()
    report_out, report_in = os.pipe()
    pid = os.fork()
    if pid:
        os.close(go_out)
        os.close(report_in)
        return pid, go_in, report_out
    status = 1
    try:
        os.close(go_in)
        os.close(report_out)
        _libc.prctl(_PR_SET_PTRACER, -1, 0, 0, 0)
        os.read(go_out, 1)
        if limits:
            limits()
        outcome = outcome_of(act)
        # Not by `write`, which may be what is broken.
        os.writev(report_in, [pickle.dumps(outcome)])
        status = 0
    finally:
        os._exit(status)


def outcome_of(act: Callable[[], object]) -> Outcome:
    """Do `act`, and report how it ended."""
    try:
        return Outcome("returned", act())
    except BaseException as exc:  # noqa: BLE001 - reported, judged by the test
        kind = type(exc).__name__
        return Outcome("raised", None, isinstance(exc, BridgeError), f"{kind}: {exc}")


def attach(pid: int, *options: str) -> subprocess.Popen[bytes]:
    """Strace a child that waits to be told to go."""
    tracer = subprocess.Popen(
        [
            needs.tool("strace"),
            "-f",
            "-qq",
            *(() if "-o" in options else ("-o", "/dev/null")),
            *options,
            "-p",
            str(pid),
        ],
        stderr=subprocess.DEVNULL,
    )
    status = Path(f"/proc/{pid}/status")
    deadline = time.monotonic() + 10
    while "TracerPid:\t0\n" in (words := status.read_text()):
        if "State:\tZ" in words:  # killed at its first step
            break
        if time.monotonic() > deadline or tracer.poll() is not None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            pytest.skip("strace cannot attach to a child here")
        time.sleep(0.001)
    return tracer


def collect(pid: int, report: int) -> Outcome:
    """Wait for the child's end; what it reported."""
    with os.fdopen(report, "rb") as end:
        data = end.read()
    os.waitpid(pid, 0)
    return pickle.loads(data) if data else Outcome("died")  # noqa: S301 - our own child


def run_broken(act: Callable[[], object], *options: str) -> Outcome:
    """Do `act` in a child under strace with `options`."""
    pid, go, report = start(act)
    tracer = attach(pid, *options)
    with contextlib.suppress(BrokenPipeError):  # killed at its first step
        os.write(go, b"!")
    os.close(go)
    outcome = collect(pid, report)
    tracer.wait()
    return outcome


def tell(row: str, what: str) -> None:
    """Print how many cases there were: the table of the closing note is made of it."""
    print(f"\n  row {row}: {what}")  # noqa: T201 - seen with -s


def system_calls(act: Callable[[], object]) -> dict[str, int]:
    """The system calls that `act` makes, with how often it makes each.

    strace counts each kind by itself, so that is how they are gone through.
    """
    return dict(Counter(name for _pid, name, _line in _traced(act)))


def changes(act: Callable[[], object]) -> list[tuple[str, int]]:
    """The system calls of `act` that change anything: which, and the how manieth of it.

    Each of its processes counts by itself, as strace does.
    """
    count: Counter[tuple[str, str]] = Counter()
    found = {}
    for pid, name, line in _traced(act):
        count[pid, name] += 1
        is_change = name in CHANGES and _changes(name, line)
        if is_change:
            found[name, count[pid, name]] = None
    return list(found)


def _changes(name: str, line: str) -> bool:
    if name == "openat":
        return "O_CREAT" in line or "O_TRUNC" in line
    return "F_SETLK" in line if name == "fcntl" else True


def _traced(act: Callable[[], object]) -> list[tuple[str, str, str]]:
    """Each system call: the process, its name, its line in the log."""
    with tempfile.NamedTemporaryFile() as log:
        outcome = run_broken(act, "-o", log.name, "-e", "trace=all")
        assert outcome.status == "returned", outcome.message
        lines = Path(log.name).read_text(errors="replace").splitlines()
    begun = ((re.match(r"(\d+) +([a-z_0-9]+)\(", line), line) for line in lines)
    return [(found[1], found[2], line) for found, line in begun if found]
