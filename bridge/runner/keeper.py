"""Run one command and leave nothing of it behind. A program of its own.

    python keeper.py PROGRAM ARGUMENT...

The command gets a process group of its own, no standard input, and this program's
output. It is ended, with all that it has started, when standard input of this program
closes: on purpose, or because whoever started it died, in whatever way. On Linux a
process that left the group is found as well: orphans become this program's children.

Exit: the command's own code, 128 + N after signal N, 127 if it cannot be started.
The standard library only, and little of it: its start is part of every command.
"""

import contextlib
import os
import select
import signal
import sys

GRACE_S = 0.3
_STEP_S = 0.02
_SUBREAPER = 36
# Not a command's to read: it speaks for the user at another machine.
_SECRETS = ("BRIDGE_OPENAI_API_KEY",)


def main(argv: list[str]) -> int:
    """Run the command until it ends or standard input closes."""
    _adopt_orphans()
    # A child's end must wake the wait below.
    woken, waker = os.pipe()
    for end in (woken, waker):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    child = _start(argv)
    while True:
        ready, _, _ = select.select([0, woken], [], [])
        if 0 in ready and not os.read(0, 512):
            _end_group(child, signal.SIGTERM)
            code = _wait(child, GRACE_S)
            break
        if woken in ready:
            os.read(woken, 512)
        code = _collect(child)
        if code is not None:
            break
    _end_group(child, signal.SIGKILL)
    _end_orphans()
    return 128 + signal.SIGKILL if code is None else code


def _start(argv: list[str]) -> int:
    child = os.fork()
    if child:
        with contextlib.suppress(OSError):
            os.setpgid(child, child)
        return child
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        for name in _SECRETS:
            os.environ.pop(name, None)
        os.execvp(argv[0], argv)  # noqa: S606 - a list, and no shell, is the point
    except OSError as exc:
        os.write(2, f"{argv[0]}: {exc.strerror}\n".encode())
    finally:
        os._exit(127)


def _collect(child: int) -> int | None:
    """The command's exit code once it has ended; other children are buried."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
    return 128 - code if code is not None and code < 0 else code


def _wait(child: int, seconds: float) -> int | None:
    for _ in range(int(seconds / _STEP_S)):
        code = _collect(child)
        if code is not None:
            return code
        select.select([], [], [], _STEP_S)
    return None


def _end_group(child: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(child, number)


def _adopt_orphans() -> None:
    """Become the parent of what the command leaves behind (Linux only)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def _end_orphans() -> None:
    """Kill what became ours, and what becomes ours by that, until nothing is left."""
    me = os.getpid()
    # The kernel's own list; where there is none, the group was all we could reach.
    listed = f"/proc/self/task/{me}/children"
    for _ in range(50):
        try:
            with open(listed, encoding="ascii") as file:
                left = [int(pid) for pid in file.read().split()]
        except OSError:
            return
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        select.select([], [], [], _STEP_S)
        _collect(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
