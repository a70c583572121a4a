"""Do something in a child under strace: what it calls, and what comes of a fault.

The child is made by fork (everything is imported already) and waits until strace has
taken hold of it, then does what it is to do, and reports. Only system calls of that are
counted: strace begins at the child's first step.
"""

import contextlib
import ctypes
import os
import pickle
import re
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import needs
import pytest

from bridge.errors import BridgeError

_PR_SET_PTRACER = 0x59616D61
_libc = ctypes.CDLL(None)

# What a store's calls can fail with, but for "there is none".
ERRORS = {
    "openat": ("EMFILE", "ENOSPC", "EIO"),
    "mkdirat": ("ENOSPC", "EROFS"),
    "write": ("ENOSPC", "EIO"),
    "fsync": ("EIO",),
    "linkat": ("ENOSPC", "EIO"),
    "renameat": ("ENOSPC", "EIO"),
    "unlinkat": ("EIO", "EROFS"),
    "flock": ("EIO",),
}

# What changes anything outside of the process: files, locks, processes. A file that is
# opened counts if that may make or empty it.
CHANGES = (
    "open", "openat", "creat", "mkdir", "mkdirat", "write", "writev", "pwrite64",
    "ftruncate", "fallocate", "copy_file_range", "sendfile", "fsync", "fdatasync",
    "link", "linkat", "symlink", "symlinkat", "rename", "renameat", "renameat2",
    "unlink", "unlinkat", "rmdir", "utimensat", "chmod", "fchmod", "fchmodat", "flock",
    "fcntl", "clone", "clone3", "fork", "vfork", "execve", "kill", "connect",
    "exit_group",
)  # fmt: skip


@dataclass
class Outcome:
    """What became of one case."""

    status: str  # "returned", "raised" or "died"
    value: Any = None
    is_ours: bool = True
    message: str = ""


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
        # It changes nothing, but a tracer that has only just begun is waited for.
        signal.raise_signal(signal.SIGWINCH)
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
    log = () if "-o" in options else ("-o", "/dev/null")
    command = [needs.tool("strace"), "-f", "-qq", *log, *options, "-p", str(pid)]
    tracer = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    status = Path(f"/proc/{pid}/status")
    deadline = time.monotonic() + 180
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


def together(
    acts: Iterable[Callable[[], object]], limits: Callable[[], object] | None = None
) -> list[Outcome]:
    """Do each in a child of its own, all at the same time; how each ended."""
    children = [start(act, limits) for act in acts]
    for _, go, _ in children:
        os.write(go, b"!")
        os.close(go)
    return [collect(pid, report) for pid, _, report in children]


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


def system_calls(act: Callable[[], object]) -> dict[str, int]:
    """The system calls that `act` makes, with how often it makes each.

    strace counts each kind by itself, so that is how they are gone through.
    """
    return dict(Counter(name for _pid, name, _line in _traced(act)))


def changes(act: Callable[[], object]) -> list[tuple[str, int]]:
    """The system calls of `act` that change anything: which, and its number, from 1.

    Each of its processes counts by itself, as strace does.
    """
    count: Counter[tuple[str, str]] = Counter()
    found = {}
    # Not every machine has all of them.
    for pid, name, line in _traced(act, ",".join(f"?{name}" for name in CHANGES)):
        count[pid, name] += 1
        if _changes(name, line):
            found[name, count[pid, name]] = None
    return list(found)


def _changes(name: str, line: str) -> bool:
    if name in ("open", "openat"):
        return "O_CREAT" in line or "O_TRUNC" in line
    return "F_SETLK" in line if name == "fcntl" else True


def _traced(
    act: Callable[[], object], calls: str = "all"
) -> list[tuple[str, str, str]]:
    """Each of these system calls: the process, its name, its line in the log."""
    with tempfile.NamedTemporaryFile() as log:
        outcome = run_broken(act, "-o", log.name, "-e", f"trace={calls}")
        assert outcome.status == "returned", outcome.message
        lines = Path(log.name).read_text(errors="replace").splitlines()
    begun = ((re.match(r"(\d+) +([a-z_0-9]+)\(", line), line) for line in lines)
    return [(found[1], found[2], line) for found, line in begun if found]
