"""Which host process is which, and whether it is still there.

A pid alone is not enough: pids are reused. Pid, start time and boot id together
identify one process for good. A process in another PID namespace cannot be seen from
here; that is not the same as gone.

Who is behind a process are its ancestors, and those that hold its terminal. A process
that was forked twice has lost its parents, and a process on a new terminal is
controlled by whoever made that terminal. The environments they were started with stay
readable. What has neither parents nor a terminal is known by its age alone.

Source: proc(5), "/proc/pid/stat", fields 3 (state), 4 (ppid), 6 (session), 7 (tty_nr)
and 22 (starttime), "/proc/pid/comm", "/proc/pid/fdinfo", tty-index, and
"/proc/pid/environ", as the program was started; prctl(2), "PR_SET_CHILD_SUBREAPER".
"""

import os
import stat
import sys
import time
from collections.abc import Collection
from contextlib import suppress
from enum import Enum
from functools import cache
from itertools import pairwise
from pathlib import Path

from bridge.protocol.claim import HostProcess

_PROC = Path("/proc")

# By pid: the variables that each was started with.
Environments = dict[int, dict[str, str]]
# In place of the pid of a process that cannot be seen from here.
UNSEEN_PID = -1
_DEAD_STATES = frozenset("ZXx")
# Major numbers of pseudo-terminals; each has 256 minors.
_FIRST_PTS, _LAST_PTS = 136, 143
_MEMORY = 1


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


def prints_to_terminal(pid: int) -> bool:
    """Whether a process writes its output to a terminal; only known on Linux."""
    try:
        facts = (_PROC / str(pid) / "fd/1").stat()
    except OSError:
        return False
    # The other devices that one may write to, such as /dev/null, are in memory.
    return stat.S_ISCHR(facts.st_mode) and os.major(facts.st_rdev) != _MEMORY


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


def behind(pid: int) -> list[int]:
    """Every process that could speak for `pid`, as far as they can be seen."""
    found = ancestors_of(pid)
    for holder in _holders(pid):
        found += [holder, *ancestors_of(holder)]
    return list(dict.fromkeys(found))


def has_terminal_from_below(pid: int, clients: Collection[int]) -> bool:
    """Whether the terminal of `pid` was made by something that one of `clients` began.

    By something younger than the client, in its control group, that has left its
    parents, or by a child of that. So does a tmux that a user begins then; but a model
    can begin one, too, and type into it, and nothing tells the two apart.
    """
    holders = _holders(pid) if clients else []
    adopter = _adopter() if holders else 0
    return any(
        (_is_orphan(holder, adopter) and _may_be_from_below(holder, clients))
        or _has_left(holder, clients, {1, adopter})
        for holder in holders
    )


def is_left_behind(pid: int, clients: Collection[int]) -> bool:
    """Whether nobody is seen at the terminal of `pid`, and a client's child left it.

    It has no terminal, or one whose holder cannot be seen: another user's, as of a
    login by ssh, but also one that hides itself.

    So it seems if it, or an ancestor, was adopted, is younger than one of `clients` and
    is in its control group. A scheduler is older, a service is in another group. The
    first process of a container has children of its own, which are in its session.
    """
    fields = stat_fields(pid) if clients else []
    if not fields or (fields[4] != "0" and _holders(pid)):
        return False
    return _has_left(pid, clients, {1, _adopter()})


def _has_left(pid: int, clients: Collection[int], adopters: Collection[int]) -> bool:
    """Whether `pid` or an ancestor was adopted, and a client may have begun it."""
    return any(
        (above in adopters or name_of(above) == "systemd")
        and stat_fields(child)[3:4] != stat_fields(above)[3:4]
        and _may_be_from_below(child, clients)
        for child, above in pairwise([pid, *ancestors_of(pid)])
    )


def _may_be_from_below(pid: int, clients: Collection[int]) -> bool:
    """Whether it began after a client, and beside it."""
    return any(
        _started(pid) >= _started(client) > 0 and _group(pid) == _group(client)
        for client in clients
    )


def _holders(pid: int) -> list[int]:
    """The processes that hold the other end of a process's terminal."""
    fields = stat_fields(pid)
    device = int(fields[4]) if fields else 0
    major, minor = os.major(device), os.minor(device)
    if not _FIRST_PTS <= major <= _LAST_PTS:
        return []
    index = str((major - _FIRST_PTS) * 256 + minor)
    return [
        int(entry.name)
        for entry in _PROC.iterdir()
        if entry.name.isdigit() and _holds(entry, index)
    ]


def _holds(process: Path, index: str) -> bool:
    with suppress(OSError):
        for link in (process / "fd").iterdir():
            with suppress(OSError):
                if not os.readlink(link).endswith("ptmx"):
                    continue
                lines = (process / "fdinfo" / link.name).read_text().splitlines()
                if any(line.split() == ["tty-index:", index] for line in lines):
                    return True
    return False


def _is_orphan(pid: int, adopter: int) -> bool:
    """Whether it was left to init, to the user's own systemd, or to `adopter`."""
    above = ancestors_of(pid)
    return not above or above[0] in (1, adopter) or name_of(above[0]) == "systemd"


def _adopter() -> int:
    """Who becomes the parent of our descendants once theirs is gone; tried out.

    Init, or the nearest process above us that has asked for them.
    """
    answer, mine = os.pipe()
    child = os.fork()
    if not child:
        try:
            here = os.getpid()
            if not os.fork():
                while os.getppid() == here:
                    time.sleep(0.001)
                os.write(mine, b"%d" % os.getppid())
        finally:
            os._exit(0)
    os.close(mine)
    os.waitpid(child, 0)
    with open(answer, "rb") as found:
        return int(found.read() or 1)


def _started(pid: int) -> int:
    fields = stat_fields(pid)
    return int(fields[19]) if fields else 0


def _group(pid: int) -> bytes:
    try:
        return (_PROC / str(pid) / "cgroup").read_bytes()
    except OSError:
        return b""
