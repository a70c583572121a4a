"""The fork server: it imports everything, then forks who `forkserver` asks for."""

import atexit
import fcntl
import os
import runpy
import selectors
import signal
import socket
import sys
import termios
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NoReturn, TextIO

import forkserver
from forkserver import Asked

_MESSAGE_BYTES = 1 << 20
# Of these a command imports what it needs when it needs it: an extra, a second's work.
_LEFT_OUT = ("llama", "testing", "mcp", "endpoint", "tracing")


class _Forker:
    """Forks for each connection, until `parent` is closed at its other end."""

    def __init__(self, listener: socket.socket, parent: socket.socket) -> None:
        self._listener = listener
        self._parent = parent
        self._asking: dict[int, socket.socket] = {}  # by the pid of what was forked
        self._wake, self._woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector = selectors.DefaultSelector()

    def serve(self) -> None:
        signal.set_wakeup_fd(self._woken)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for source in (self._listener, self._parent, self._wake):
            self._selector.register(source, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj: key.data for key, _ in self._selector.select()}
            if self._parent in ready:
                return
            if self._wake in ready:
                os.read(self._wake, 4096)
                self._report_ends()
            for connection, pid in ready.items():
                # Whoever asked is gone.
                if pid in self._asking and self._asking[pid] is connection:
                    os.kill(pid, signal.SIGKILL)
            if self._listener in ready:
                self._fork()

    def _fork(self) -> None:
        connection, _ = self._listener.accept()
        message, fds, _, _ = socket.recv_fds(connection, _MESSAGE_BYTES, 3)
        if not message:
            connection.close()
            return
        asked = Asked.read(message)
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._selector.close()
            ours = [*self._asking.values(), connection, self._listener, self._parent]
            _become(asked, fds, [*ours, self._wake, self._woken])
        for each in fds:
            os.close(each)
        self._asking[pid] = connection
        self._selector.register(connection, selectors.EVENT_READ, pid)
        _tell(connection, pid)

    def _report_ends(self) -> None:
        while self._asking:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with self._asking.pop(pid) as connection:
                self._selector.unregister(connection)
                _tell(connection, status)


def _tell(connection: socket.socket, number: int) -> None:
    # A hook that the client has ended, or a test that was interrupted, asks no more.
    with suppress(OSError):
        connection.send(b"%d" % number)


def _become(asked: Asked, fds: list[int], ours: list) -> NoReturn:
    """Be the process that was asked for, to its end."""
    for each in ours:
        os.close(each) if isinstance(each, int) else each.close()
    for number, each in enumerate(fds):
        os.dup2(each, number)
        os.close(each)
    how = asked.how.split()
    if "session" in how or "terminal" in how:
        os.setsid()
    if "terminal" in how:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(asked.cwd)
    os.environ.clear()
    os.environ.update(asked.env)
    time.tzset()
    if forkserver.BELOW in os.environ:
        _go_below(int(os.environ.pop(forkserver.BELOW)))
    if "forks" in how:
        from bridge.process import run

        run.run = forkserver.forks_readers(run.run)
    sys.stdin = sys.__stdin__ = _text(0, "r", "surrogateescape")
    sys.stdout = sys.__stdout__ = _text(1, "w", "surrogateescape")
    sys.stderr = sys.__stderr__ = _text(2, "w", "backslashreplace")
    code = 1
    try:
        _run(asked.argv)
        code = 0
    except SystemExit as exc:
        code = exc.code if isinstance(exc.code, int) else int(exc.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does at its end
        sys.excepthook(*sys.exc_info())
    finally:
        _finish(code)


def _go_below(parent: int) -> None:
    """Have our code take a process for the parent of this one."""
    from bridge.store import host_process

    me, parent_of = os.getpid(), host_process._parent
    host_process._parent = lambda pid: parent if pid == me else parent_of(pid)
    os.getppid = lambda: parent


def _run(argv: list[str]) -> None:
    first, second, *words = argv
    if first == "-m":
        from bridge.cli.entry import main

        sys.argv[:] = [_program(), *words]
        sys.path.insert(0, os.getcwd())
        main()
    elif first == "-c":
        sys.argv[:] = ["-c", *words]
        exec(second, {"__name__": "__main__"})  # noqa: S102 - ours
    else:
        sys.argv[:] = [second, *words]
        runpy.run_path(second, run_name="__main__")


def _finish(code: int) -> NoReturn:
    """End as an interpreter does: threads, callbacks, then what is not written yet."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 120
    os._exit(code & 0xFF)


def _text(number: int, mode: str, errors: str) -> TextIO:
    """A stream as the interpreter opens it where the language is C.UTF-8."""
    lines = 1 if sys.stderr.fileno() == number else -1
    return open(
        number, mode, buffering=lines, encoding="utf-8", errors=errors, closefd=False
    )


@cache
def _program() -> str:
    import bridge

    return str(Path(bridge.__file__).with_name("__main__.py"))


def _import_everything(*rooms: str) -> None:
    """Import what commands import, with these rooms; nothing that starts a thread."""
    import gc
    import importlib
    import pkgutil

    import bridge

    left_out = {*_LEFT_OUT} - {*rooms}
    for found in pkgutil.walk_packages(bridge.__path__, "bridge."):
        room, _, rest = found.name.removeprefix("bridge.").partition(".")
        if room in left_out or room == "__main__" or rest.endswith("__main__"):
            continue
        importlib.import_module(found.name)
    # The dearest of what a command imports late.
    with suppress(ImportError):
        importlib.import_module("openai.resources.chat")
    _program()
    assert threading.active_count() == 1
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    # Not the tests' folder, but their project: another copy may be installed.
    sys.path[0] = str(Path(__file__).parents[1])
    _import_everything(*sys.argv[3:])
    forkserver.starts_python = False
    listener, parent = (socket.socket(fileno=int(number)) for number in sys.argv[1:3])
    forkserver.here = listener.getsockname()
    _Forker(listener, parent).serve()
