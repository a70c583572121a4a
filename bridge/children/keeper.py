"""Run one program, and see to it that nothing of it outlives whoever asked.

    python -I -S keeper.py LIFELINE GRACE_S PROGRAM [ARGUMENT ...]

A script of its own, standard library only. The program gets our stdin, stdout and
stderr, and a session of its own. LIFELINE is the descriptor of a pipe's read end: when
its other end closes, because the asker closed it or is gone in whatever way, the
program gets SIGTERM, GRACE_S seconds, then SIGKILL, and with it everything it started,
also what left its group. The same on SIGTERM, and after the program's own end.

Exits as the program did, 128 + N after signal N; 127 when it cannot be started, with
the reason on stderr.

Source: prctl(2), PR_SET_CHILD_SUBREAPER and PR_SET_PDEATHSIG; elsewhere than on Linux
only the program's group is ended.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_IS_LINUX = sys.platform == "linux"
_STEP_S = 0.05


def main(lifeline: int, grace_s: float, command: list[str]) -> int:
    """Run the program; returns the exit code."""
    libc = ctypes.CDLL(None) if _IS_LINUX else None
    if libc:
        # What the program leaves behind becomes ours, and can be found.
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    signal.set_wakeup_fd(tell)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)

    def die_with_us() -> None:
        if libc:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    try:
        # One thread, so what runs between fork and exec is safe.
        program = subprocess.Popen(
            command,
            start_new_session=True,
            preexec_fn=die_with_us,  # noqa: PLW1509
        )
    except OSError as exc:
        sys.stderr.write(f"{command[0]}: {exc.strerror}\n")
        return 127
    # A program that waits for the end of its input, or output, must not wait for us.
    for stream in (0, 1):
        os.dup2(os.open(os.devnull, os.O_RDWR), stream)
    code = _watch(program, lifeline, told)
    if code is None:
        code = _terminate(program, grace_s)
    _end_all(program.pid)
    return 128 - code if code < 0 else code


def _watch(program: subprocess.Popen[bytes], lifeline: int, told: int) -> int | None:
    """Wait for the program's end, or None when it is wanted no more."""
    while (code := program.poll()) is None:
        ready, _, _ = select.select([lifeline, told], [], [])
        if lifeline in ready:
            return None
        if set(os.read(told, 512)) - {signal.SIGCHLD}:
            return None
        _reap_others(program.pid)
    return code


def _terminate(program: subprocess.Popen[bytes], grace_s: float) -> int:
    """SIGTERM to the group, time to obey, SIGKILL."""
    _signal_group(program.pid, signal.SIGTERM)
    until = time.monotonic() + grace_s
    while program.poll() is None:
        if time.monotonic() >= until:
            _signal_group(program.pid, signal.SIGKILL)
            return program.wait()
        time.sleep(_STEP_S)
    return program.returncode


def _end_all(group: int) -> None:
    """Kill what is left, until nothing is: a kill turns orphans into our children."""
    _signal_group(group, signal.SIGKILL)
    while left := _descendants(os.getpid()):
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        _reap()
        time.sleep(_STEP_S / 10)


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


def _reap_others(program: int) -> None:
    """Reap what the program left to us and has ended; its own end is not ours."""
    how = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while (seen := os.waitid(os.P_ALL, 0, how)) and seen.si_pid != program:
        os.waitpid(seen.si_pid, 0)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _descendants(top: int) -> list[int]:
    """Every process below `top`, dead ones that nobody reaped left out.

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
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
