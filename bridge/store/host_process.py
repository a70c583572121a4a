"""Which host process is which, and whether it is still there.

A pid alone is not enough: pids are reused. Pid, start time and boot id together
identify one process for good. A process in another PID namespace cannot be seen from
here; that is not the same as gone.

Source: proc(5), "/proc/pid/stat", fields 3 (state) and 22 (starttime), and
"/proc/pid/comm".
"""

import os
import sys
from contextlib import suppress
from enum import Enum
from functools import cache
from pathlib import Path

from bridge.protocol.claim import HostProcess

_PROC = Path("/proc")

# By pid: the variables that each was started with.
Environments = dict[int, dict[str, str]]
# In place of the pid of a process that cannot be seen from here.
UNSEEN_PID = -1
_DEAD_STATES = frozenset("ZXx")


class Liveness(Enum):
    """What is known about a process from here."""

    ALIVE = "alive"
    GONE = "gone"
    UNSEEN = "unseen"


def identify(pid: int) -> HostProcess | None:
    """The identity of the running process `pid`; None when there is none."""
    started = _start_time(pid)
    if started is None:
        return None
    return HostProcess(
        pid=pid, start_time=started, boot=boot_id(), pid_namespace=_pid_namespace()
    )


def liveness(host: HostProcess) -> Liveness:
    """Whether the process that `host` identifies still runs."""
    if host.boot != boot_id():
        return Liveness.GONE
    if host.pid_namespace != _pid_namespace():
        return Liveness.UNSEEN
    started = _start_time(host.pid)
    return Liveness.ALIVE if started == host.start_time else Liveness.GONE


def name_of(pid: int) -> str:
    """The name of the program that a process runs; empty when it is gone."""
    if sys.platform != "linux":
        # macOS gives the full path, and a dash before the name of a login shell.
        return Path(_ask("ps", "-o", "comm=", "-p", str(pid))).name.removeprefix("-")
    try:
        return (_PROC / str(pid) / "comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def arguments_of(pid: int) -> list[str]:
    """The command line of a process, without its program; empty when it is gone."""
    if sys.platform != "linux":
        return _ask("ps", "-o", "args=", "-p", str(pid)).split()[1:]
    try:
        line = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return [
        part.decode(errors="replace")
        for part in line.removesuffix(b"\0").split(b"\0")[1:]
    ]


def describe(pid: int) -> str:
    """A process for a person to find: its pid, its program, whether it is stopped."""
    if pid <= 0:
        return "a process that cannot be seen from here"
    name = name_of(pid)
    stopped = ", stopped" if is_stopped(pid) else ""
    return f"pid {pid} ({name}{stopped})" if name else f"pid {pid}"


def holders_of(file: os.stat_result) -> list[int]:
    """The processes that hold a lock on a file by flock, as far as they can be seen.

    That is whoever has the locked file open: a child made by fork may still have it
    when the process that locked it is long gone. 0 is one that cannot be seen.

    Source: proc(5), "/proc/pid/fdinfo", "lock"; "/proc/locks".
    """
    if sys.platform != "linux":
        return []
    locker = _locker_of(file)
    if locker is None or _has_locked(_PROC / str(locker), file):
        return [] if locker is None else [locker]
    found = [int(each.name) for each in _PROC.glob("[0-9]*") if _has_locked(each, file)]
    return sorted(found) or [locker if name_of(locker) else 0]


def _locker_of(file: os.stat_result) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in (_PROC / "locks").read_text("ascii").splitlines():
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5].endswith(f":{file.st_ino}"):
                return int(fields[4])
    return None


def _has_locked(process: Path, file: os.stat_result) -> bool:
    with suppress(OSError):
        for link in (process / "fd").iterdir():
            with suppress(OSError):
                if os.path.samestat(link.stat(), file):
                    facts = (process / "fdinfo" / link.name).read_text()
                    if "FLOCK" in facts:
                        return True
    return False


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped, by Ctrl-Z or a debugger."""
    if sys.platform != "linux":
        return _ask("ps", "-o", "state=", "-p", str(pid)).startswith("T")
    return stat_fields(pid)[:1] in (["T"], ["t"])


def ancestors_of(pid: int) -> list[int]:
    """The ancestors of `pid`, its parent first, as far as they can be seen."""
    found: list[int] = []
    # Include process 1: in a container it may be a client.
    while (pid := _parent(pid)) > 0 and pid not in found:
        found.append(pid)
    return found


def environment_of(pid: int) -> dict[str, str]:
    """The environment a process was started with; empty if it cannot be read."""
    if sys.platform != "linux":
        return {}
    try:
        data = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return {}
    found = (part.decode(errors="replace").partition("=") for part in data.split(b"\0"))
    return {name: value for name, mark, value in found if mark}


def environments_above() -> Environments:
    """The environments of our ancestors, our parent's first."""
    return {pid: environment_of(pid) for pid in ancestors_of(os.getpid())}


def _parent(pid: int) -> int:
    if sys.platform != "linux":
        found = _ask("ps", "-o", "ppid=", "-p", str(pid))
        return int(found) if found.isdigit() else 0
    fields = stat_fields(pid)
    return int(fields[1]) if fields else 0


def stat_fields(pid: int) -> list[str]:
    """The fields of its stat from the third on; empty if it cannot be read."""
    with suppress(OSError):
        return _stat_fields(pid)
    return []


def _stat_fields(pid: int) -> list[str]:
    with open(f"{_PROC}/{pid}/stat", "rb", buffering=0) as file:
        line = file.read(4096).decode(errors="replace")
    # The name in parentheses may itself hold spaces and parentheses.
    return line.rpartition(")")[2].split()


def _start_time(pid: int) -> str | None:
    if sys.platform != "linux":
        return _ask("ps", "-o", "lstart=", "-p", str(pid)) or None
    try:
        fields = _stat_fields(pid)
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in _DEAD_STATES else fields[19]


@cache
def boot_id() -> str:
    """Identifies this run of the machine."""
    if sys.platform != "linux":
        return _ask("sysctl", "-n", "kern.bootsessionuuid")
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


@cache
def _pid_namespace() -> str:
    if sys.platform != "linux":
        return ""
    return str((_PROC / "self/ns/pid").readlink())


def _ask(*command: str) -> str:
    # Hooks use this module too, and it takes a while to import.
    import subprocess

    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        # No program of this name, as with the short PATH of cron.
        return ""
    return done.stdout.strip()
