"""Forks the command line, hooks and readers from a process that has their modules.

Most of what a short command costs is the start of Python and its imports: 100 to 300 ms
of processor time, where a forked process needs a few. A test that looks at the start
itself, or changes the interpreter, starts a real one (`is_forkable`). Hooks, and the
readers of a change, start one in canaries and with --full (`starts_python`). The server
itself is `forker`.

A fork server has one thread and has run nothing but imports, so that a fork of it is as
good as new. It ends with the process that started it.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

# Whether hooks and readers start a Python of their own; tests/conftest.py sets it for
# each test.
starts_python = True
# The address of the fork server, in what it has forked.
here = b""
# Names, to one that is forked, the process below which it is to believe itself.
BELOW = "FORKED_BELOW"
# Read as Python starts, or before that: they mean nothing to one that runs.
_OF_THE_START = ("PYTHON", "LD_", "LC_", "MALLOC_")
_SERVER = Path(__file__).with_name("forker.py")
_HOOKS = Path(__file__).parents[1] / "hooks"
# Has a process forked that gets the arguments, folder, environment and streams of this
# one, which ends as that one does.
_FORKED = """\
import _socket, os, sys
words = map(os.fsencode, sys.argv[1:])
env = (b"%s=%s" % each for each in os.environb.items())
asked = [{how!r}, os.getcwdb(), b"%d" % (len(sys.argv) - 1), *words, *env]
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
server.connect({address!r})
fds = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)
server.sendmsg([b"\\0".join(asked)], [rights])
server.recv(64)
code = os.waitstatus_to_exitcode(int(server.recv(64) or 9))
os._exit(code if code >= 0 else 128 - code)
"""
# What hooks are started with instead of Python. Other programs, and -m, it leaves to
# Python itself; so, too, the MCP server, which is told by its parent whose it is. It is
# started by a shell, since a path after #! can have no spaces.
_LAUNCHER = """\
import os, sys
flags, file = (sys.argv[1:3] + ["", ""])[:2]
known = flags.startswith("-E") and file.startswith({hooks!r})
known = known and not file.endswith("mcp_server.py")
if not known or any(name.startswith({of_the_start!r}) for name in os.environ):
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
"""
# The command `hostbridge`, in a fork: the Python that it finds itself started by, and
# so registers for hooks, is the launcher.
_COMMAND = """\
import sys
from bridge.cli.entry import main
sys.executable = {python!r}
main()
"""
_READS = [sys.executable, "-EPB"]
_LANGUAGE = "C.UTF-8"
_LOOK_S = 0.2
_LIMIT_S = 300.0
_HOME = os.environ.get("HOME", "")


class Ended(NamedTuple):
    """What a process left: its exit code as `subprocess` counts, stdout and stderr."""

    code: int
    out: bytes
    err: bytes


class Asked(NamedTuple):
    """A process that is to be forked; `argv` is what Python is started with.

    `how` has some of "session" (a new one), "terminal" (that of stdin, for a new
    session), and "forks" (so do its own readers, by `forks_readers`).
    """

    how: str
    cwd: str
    argv: list[str]
    env: dict[str, str]

    def message(self) -> bytes:
        head = (self.how, self.cwd, str(len(self.argv)))
        env = ("=".join(each) for each in self.env.items())
        return b"\0".join(map(os.fsencode, (*head, *self.argv, *env)))

    @classmethod
    def read(cls, message: bytes) -> Asked:
        how, cwd, count, *rest = map(os.fsdecode, message.split(b"\0"))
        argv, env = rest[: int(count)], rest[int(count) :]
        pairs = (each.partition("=") for each in env)
        return cls(how, cwd, argv, {name: value for name, _, value in pairs})


def hook_python() -> str:
    """The Python of the hooks that a test installs."""
    return str(_launcher()) if not starts_python else sys.executable


def console_script() -> str:
    """The line of a shell script that is `hostbridge`; its hooks have `hook_python`."""
    words = [str(Path(sys.executable).with_name("hostbridge"))]
    if not starts_python:
        forked, script = (_launcher().with_name(name) for name in ("forked", "command"))
        if not script.exists():
            forked.write_text(_FORKED.format(how=b"forks", address=_server().address))
            script.write_text(_COMMAND.format(python=hook_python()))
        words = [sys.executable, "-IS", str(forked), "-EP", str(script)]
    return f'exec {shlex.join(words)} "$@"'


@cache
def _launcher() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="launcher-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    text = (_LAUNCHER + _FORKED).format(
        how=b"forks",
        python=sys.executable,
        hooks=f"{_HOOKS}/",
        of_the_start=_OF_THE_START[1:],  # -E ignores what begins with PYTHON
        address=_server().address,
    )
    script, file = folder / "launcher.py", folder / "python"
    script.write_text(text)
    command = shlex.join([sys.executable, "-IS", str(script)])
    file.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    file.chmod(0o700)
    return file


def is_forkable(env: Mapping[str, str]) -> bool:
    """Whether a process with this environment starts as the fork server did."""
    language = env.get("LANG") == _LANGUAGE
    return language and not any(name.startswith(_OF_THE_START) for name in env)


class Forked(subprocess.Popen):
    """A process that the fork server forks, for which it starts nothing.

    `argv` is what Python would be started with. With `terminal`, stdin becomes the
    controlling terminal of a new session.
    """

    _server: socket.socket

    def __init__(
        self, argv: list[str], *, terminal: bool = False, **options: Any
    ) -> None:
        self._terminal = terminal
        super().__init__(argv, **options)

    def _execute_child(  # type: ignore[override]
        self, args, _executable, _preexec, _close_fds, _pass_fds, cwd, env, *others
    ) -> None:
        # Both ends of each pipe, of the first one that to read from; -1: there is none.
        pipes = others[3:9]
        its = (pipes[0], pipes[3], pipes[5])
        streams = [end if end != -1 else number for number, end in enumerate(its)]
        is_new, is_forking = others[14], not starts_python
        words = ("session", is_new), ("terminal", self._terminal), ("forks", is_forking)
        how = " ".join(word for word, is_wanted in words if is_wanted)
        asked = Asked(how, str(cwd), args, env)
        self._server = _connection()
        socket.send_fds(self._server, [asked.message()], streams)
        self.pid = int(self._server.recv(64))
        self._child_created = True
        self._close_pipe_fds(*pipes)

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        try:
            word = self._server.recv(64, socket.MSG_DONTWAIT if wait_flags else 0)
        except BlockingIOError:
            return 0, 0
        self._server.close()
        return self.pid, int(word or signal.SIGKILL)

    def _internal_poll(self, _deadstate=None, **_):
        """As `Popen` has it, but what waits is ours."""
        return super()._internal_poll(_deadstate, lambda _, f: self._try_wait(f))


def run(
    words: list[str],
    *,
    env: Mapping[str, str],
    cwd: Path | str,
    stdin: bytes = b"",
    new_session: bool = False,
    file: str | None = None,
) -> Ended:
    """Run `python -m bridge WORDS`, or a file of ours, to its end, with pipes.

    Raises:
        TimeoutExpired: it ran for five minutes; it is killed.
    """
    program = ["-EP", file] if file else ["-m", "bridge"]
    options = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    options |= {"env": dict(env), "cwd": cwd, "start_new_session": new_session}
    with Forked([*program, *words], **options) as process:
        try:
            out, err = process.communicate(stdin, timeout=_LIMIT_S)
        except BaseException:
            process.kill()
            raise
    return Ended(process.returncode, out, err)


def forks_readers(starts: Callable) -> Callable:
    """`bridge.process.run.run`, which starts what it runs, but our readers are forked.

    They are the programs that read a repository, or make a checkout of it. Those of a
    user with settings are started: libgit2 looks for these as it is loaded.
    """

    def forks(
        command: list[str], output: Any, *, env: Mapping[str, str], **options: Any
    ) -> Any:
        if command[:2] != _READS or _has_settings(env):
            return starts(command, output, env=env, **options)
        from bridge.process.run import Ended

        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with Forked(command[1:], env=env, cwd=options["folder"], **streams) as process:
            given = options["stdin"]
            while True:
                left_s = options["deadline_s"] - time.monotonic()
                try:
                    out, err = process.communicate(given, min(left_s, _LOOK_S))
                    break
                except BaseException as exc:
                    is_late = isinstance(exc, subprocess.TimeoutExpired)
                    is_stopped = options["should_stop"]()
                    if is_late and left_s > _LOOK_S and not is_stopped:
                        given = None
                        continue
                    process.kill()
                    if not is_late:
                        raise
                    how = "stopped" if is_stopped else "deadline"
                    return Ended(how, 128 + signal.SIGKILL, "")
        output.add(out)
        code = process.returncode
        return Ended("exited", 128 - code if code < 0 else code, err.decode())

    return forks


def _has_settings(env: Mapping[str, str]) -> bool:
    home = env.get("HOME", _HOME)
    found = any(
        os.path.exists(f"{home}/{name}") for name in (".gitconfig", ".config/git")
    )
    return "XDG_CONFIG_HOME" in env or (home != _HOME and found)


def program() -> str:
    """A program that is `python -m bridge` in a fork; both have the same ancestors."""
    return str(_program_file()) if not starts_python else f"{sys.executable} -m bridge"


@cache
def _program_file() -> Path:
    file = _launcher().with_name("hostbridge")
    file.write_text(f'#!/bin/sh\n{BELOW}=$PPID exec {shlex.join(command())} "$@"\n')
    file.chmod(0o700)
    return file


def command(*words: str, room: str = "") -> list[str]:
    """The command that runs `python -m bridge WORDS` in a fork with `room` imported.

    The fork's parent is `parent_of(room)`.
    """
    how = b"" if starts_python else b"forks"
    server = _server(room) if room else _server()
    program = _FORKED.format(how=how, address=server.address)
    return [sys.executable, "-ISc", program, "-m", "bridge", *words]


def parent_of(room: str) -> int:
    """The fork server that has imported `room`."""
    return _server(room).pid


def _connection() -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(here or _server().address)
    return connection


class _Server(NamedTuple):
    address: bytes
    pid: int


@cache
def _server(*rooms: str) -> _Server:
    """The fork server of this process that has imported `rooms`; started at once."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # An abstract name, or a free file in the usual folder where there are none.
    listener.bind(b"" if sys.platform == "linux" else _free_file())
    listener.listen(64)
    ours, its = socket.socketpair()
    numbers = [listener.fileno(), its.fileno()]
    with listener, its:
        server = subprocess.Popen(
            [sys.executable, _SERVER, *map(str, numbers), *rooms],
            pass_fds=numbers,
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": _LANGUAGE},
            stdin=subprocess.DEVNULL,
        )
        address = listener.getsockname()
    atexit.register(_end, ours, server)
    return _Server(
        address if isinstance(address, bytes) else address.encode(), server.pid
    )


def _free_file() -> bytes:
    return os.path.join(tempfile.mkdtemp(prefix="forks-"), "socket").encode()


def _end(ours: socket.socket, server: subprocess.Popen[bytes]) -> None:
    ours.close()
    server.wait()
