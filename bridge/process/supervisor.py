"""Run one program, and make sure that none of its processes outlives the caller.

    python -I -S supervisor.py LIFELINE GRACE_S WALLS PROGRAM [ARGUMENT ...]

This script uses only the standard library. The program gets our stdin, stdout and
stderr, and its own session. LIFELINE is the descriptor of a pipe's read end. When the
other end closes, because the caller closed it or is gone, the program gets SIGTERM and
after GRACE_S seconds SIGKILL; everything that it started is killed, even outside its
group. The same happens on SIGTERM, and when the program has ended by itself.

The program may signal any process of this user, including this script. So there are two
processes: the guard, and below it the keeper, which starts the program. If the keeper
is killed or stopped, the guard inherits its orphans and kills them; if the guard is
killed, the keeper kills everything itself. WALLS is 1 if the program may only signal
what it has started (Linux 6.12 or later; it gets no new privileges then, so no sudo),
else 0.

The exit code is the program's, or 128 + N after signal N; 127 if it cannot be started,
with the reason on stderr; 137 if the keeper was killed or stopped.

Source: prctl(2), PR_SET_CHILD_SUBREAPER and PR_SET_PDEATHSIG; landlock(7), "IPC
scoping". On other systems than Linux only the program's group is killed.
"""

import ctypes
import os
import select
import signal
import struct
import subprocess
import sys
import time
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_RESTRICT_SELF = 446
_SCOPE_SIGNAL = 1 << 1
_IS_LINUX = sys.platform == "linux"
_STEP_S = 0.05
_MAX_LOOKS = 100
# How much longer than the program's grace period the guard waits for the keeper.
_MORE_S = 1.0
_KILLED = 128 + signal.SIGKILL


def main(lifeline: int, grace_s: float, command: list[str], *, walls: bool) -> int:
    """Run the program; returns the exit code."""
    signals = _listen()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    guard = os.getpid()
    keeper = os.fork()
    if keeper:
        return _guard(keeper, lifeline, signals, grace_s)
    # Its own group: that of the guard is signalled as a whole.
    os.setsid()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != guard:
        return _KILLED
    os.close(signals)
    return _keep(lifeline, _listen(), grace_s, command, walls=walls)


def _listen() -> int:
    """A descriptor from which the signals can be read."""
    signals, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return signals


# The guard


def _guard(keeper: int, lifeline: int, signals: int, grace_s: float) -> int:
    """Wait for the keeper; whatever happens to it, nothing is left."""
    _release_streams(0, 1, 2)
    code = _wait_for(keeper, lifeline, signals, grace_s)
    end_descendants()
    return code


def _wait_for(keeper: int, lifeline: int, signals: int, grace_s: float) -> int:
    """The keeper's exit code; 137 if it is killed, stopped or late."""
    awaited, until, wait_s = [lifeline, signals], float("inf"), None
    changes = os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT
    while time.monotonic() < until:
        ready, _, _ = select.select(awaited, [], [], wait_s)
        is_unwanted = lifeline in ready
        if signals in ready:
            is_unwanted |= bool(set(os.read(signals, 512)) - {signal.SIGCHLD})
        if is_unwanted and wait_s is None:
            with suppress(ProcessLookupError):
                os.kill(keeper, signal.SIGTERM)
            awaited, wait_s = [signals], _STEP_S
            until = time.monotonic() + grace_s + _MORE_S
        _reap_others(keeper)
        if (seen := os.waitid(os.P_PID, keeper, changes)) is None:
            continue
        if seen.si_code == os.CLD_EXITED:
            return seen.si_status
        break
    _signal_all({keeper}, signal.SIGKILL)
    return _KILLED


# The keeper


def _keep(
    lifeline: int, signals: int, grace_s: float, command: list[str], *, walls: bool
) -> int:
    """Start the program, wait for its end, and kill what it leaves."""
    rules = _signal_rules() if walls else -1

    def prepare() -> None:
        if rules >= 0:
            _prctl(_PR_SET_NO_NEW_PRIVS, 1)
            ctypes.CDLL(None).syscall(_LANDLOCK_RESTRICT_SELF, rules, 0)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    try:
        # There is only one thread, so code between fork and exec is safe.
        program = subprocess.Popen(
            command,
            start_new_session=True,
            preexec_fn=prepare,  # noqa: PLW1509
        )
    except OSError as exc:
        sys.stderr.write(f"{command[0]}: {exc.strerror}\n")
        return 127
    # Whoever waits for the end of the program's pipes must not wait for us.
    _release_streams(0, 1)
    code = _watch(program, lifeline, signals)
    if code is None:
        code = _terminate(program, grace_s)
    _signal_group(program.pid, signal.SIGKILL)
    end_descendants()
    return 128 - code if code < 0 else code


def _watch(program: subprocess.Popen[bytes], lifeline: int, signals: int) -> int | None:
    """Wait for the program's exit code; None if it should be stopped."""
    while (code := program.poll()) is None:
        ready, _, _ = select.select([lifeline, signals], [], [])
        if lifeline in ready:
            return None
        if set(os.read(signals, 512)) - {signal.SIGCHLD}:
            return None
        _reap_others(program.pid)
    return code


def _terminate(program: subprocess.Popen[bytes], grace_s: float) -> int:
    """Send SIGTERM to the group and, after the grace period, SIGKILL."""
    _signal_group(program.pid, signal.SIGTERM)
    until = time.monotonic() + grace_s
    while program.poll() is None:
        if time.monotonic() >= until:
            _signal_group(program.pid, signal.SIGKILL)
            return program.wait()
        time.sleep(_STEP_S)
    return program.returncode


# Processes


def end_descendants() -> None:
    """Kill everything below this process until nothing is left.

    Orphans become our children. So even if a process forks and ends before any list
    shows it, nothing is left once there is no child to wait for.
    """
    while _reap():
        kill_descendants(os.getpid())
        _kill_children()
        time.sleep(_STEP_S / 10)


def _kill_children() -> None:
    """Kill our own children, which the kernel can list in one file.

    Source: proc(5), "/proc/pid/task/tid/children".
    """
    with suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children", "rb") as f:
        _signal_all({int(word) for word in f.read().split()}, signal.SIGKILL)


def kill_descendants(top: int) -> bool:
    """Kill all processes that are listed below `top`; returns whether there were any.

    All are stopped before any is killed: one that keeps forking would stay ahead.
    """
    left = _descendants(top)
    stopped: set[int] = set()
    for _ in range(_MAX_LOOKS):
        fresh = set(left) - stopped
        if not fresh:
            break
        _signal_all(fresh, signal.SIGSTOP)
        stopped |= fresh
        left = _descendants(top)
    _signal_all(stopped, signal.SIGKILL)
    return bool(stopped)


def _signal_all(pids: set[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _signal_group(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _reap_others(kept: int) -> None:
    """Reap every child that has ended, except `kept`."""
    how = os.WEXITED | os.WNOHANG | os.WNOWAIT
    with suppress(ChildProcessError):
        while (seen := os.waitid(os.P_ALL, 0, how)) and seen.si_pid != kept:
            os.waitpid(seen.si_pid, 0)


def _reap() -> bool:
    """Reap the children that have ended; returns whether there are others."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _release_streams(*streams: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for stream in streams:
        os.dup2(null, stream)


def _prctl(option: int, value: int) -> None:
    if _IS_LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _signal_rules() -> int:
    """Rules that confine a program's signals; -1 if the kernel has none."""
    if not _IS_LINUX:
        return -1
    # struct landlock_ruleset_attr: handled_access_fs, handled_access_net, scoped.
    attributes = struct.pack("=QQQ", 0, 0, _SCOPE_SIGNAL)
    call = ctypes.CDLL(None).syscall
    return int(call(_LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0))


def _descendants(top: int) -> list[int]:
    """Every process below `top`, without zombies.

    Source: proc(5), "/proc/pid/stat", fields 3 (state) and 4 (ppid).
    """
    if not _IS_LINUX:
        return []
    parents = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] not in (b"Z", b"X"):
            parents[int(name)] = int(fields[1])
    found = [top]
    for known in found:  # grows while it is walked
        found += [pid for pid, parent in parents.items() if parent == known]
    return found[1:]


if __name__ == "__main__":
    code = main(
        int(sys.argv[1]), float(sys.argv[2]), sys.argv[4:], walls=sys.argv[3] == "1"
    )
    # At once: while Python tidies up, a signal would end it, and the code be lost.
    os._exit(code)
