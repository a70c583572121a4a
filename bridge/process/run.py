"""Run a program until it ends, until its deadline, or until it should stop.

Its time and output are limited. Nothing that it started outlives it or us: the
`supervisor` between it and us stops whatever is left.
"""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from bridge.process.streams import Streams
from bridge.process.supervised import Supervised

# Between SIGTERM and SIGKILL; and how much longer than that the supervisor may take.
GRACE_S = 2.0
_EXTRA_S = 3.0
# How long stopping a program may take if there is no time left.
_MIN_STOP_S = 0.1
# How long killing the rest may take.
_KILL_S = 0.5
# Grace and killing together take at most a quarter of the time.
_SHARE = 4
_LOOK_S = 0.2
# Reads after the program's end: a pipe holds less, but an escaped child may write on.
_MAX_LEFT_OVER = 64

End = Literal["exited", "deadline", "stopped", "too much output"]


class Stopped(Exception):
    """What a program was to do has no end: it was stopped, as was asked."""


class Output(Protocol):
    """Takes a program's stdout."""

    def add(self, data: bytes) -> None:
        """Take the next part of it."""

    @property
    def is_full(self) -> bool:
        """Whether the program has written too much, and should be stopped."""


class WholeOutput:
    """Keeps all of an output; too much output stops the program."""

    def __init__(self, max_bytes: int) -> None:
        """At more than `max_bytes` the program is stopped."""
        self.data = bytearray()
        self._max_bytes = max_bytes

    def add(self, data: bytes) -> None:
        """Keep the next part."""
        self.data += data

    @property
    def is_full(self) -> bool:
        """Whether it is longer than its limit."""
        return len(self.data) > self._max_bytes


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended.

    `exit_code` is 128 + N after signal N, 127 if it could not be started; `stderr` is
    the end of what it wrote there.
    """

    how: End
    exit_code: int
    stderr: str


def run(
    command: Sequence[str],
    output: Output,
    *,
    stdin: bytes | None,
    env: Mapping[str, str],
    folder: Path,
    deadline_s: float,
    should_stop: Callable[[], bool],
    grace_s: float = GRACE_S,
    is_confined: bool = False,
) -> Ended:
    """Run `command` in `folder`; nothing of it is left on return or interrupt.

    It returns by `deadline_s` (monotonic). The program gets SIGTERM `grace_s` before
    that, or later if time is short. `should_stop` is asked several times a second.
    If `stdin` is None, the program reads an empty file, and its stderr goes into
    `output`. `is_confined` is as in `Supervised`.

    Raises:
        OSError: the system starts no more processes, or there is no such folder.
    """
    stop_s = deadline_s - _grace_within(deadline_s - time.monotonic(), grace_s)

    def left_s() -> float:
        left = min(grace_s + _EXTRA_S, deadline_s - time.monotonic())
        return max(_MIN_STOP_S, left)

    with ExitStack() as stack:
        program = Supervised(
            command,
            grace_s=grace_s,
            is_confined=is_confined,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if stdin is None else subprocess.PIPE,
        )
        streams = Streams(program.process, output.add)
        stack.callback(streams.close)
        # Also when we are interrupted.
        stack.callback(lambda: program.stop(left_s()))
        if stdin is not None:
            streams.send(stdin, is_last=True)
        how: End = "exited"
        # The supervisor outlives everything that could write.
        while program.process.poll() is None:
            if time.monotonic() >= stop_s:
                how = "deadline"
            elif should_stop():
                how = "stopped"
            elif output.is_full:
                how = "too much output"
            else:
                wait_s = min(_LOOK_S, max(0.0, stop_s - time.monotonic()))
                _go_on(program, streams, wait_s)
                continue
            break
        code = _stop(program, streams, time.monotonic() + left_s())
        for _ in range(_MAX_LEFT_OVER):
            if output.is_full or not streams.move(0):
                break
        return Ended(how, 128 - code if code < 0 else code, streams.stderr)


def _grace_within(left_s: float, grace_s: float) -> float:
    """How long before its deadline a program with `left_s` left gets SIGTERM."""
    return max(0.0, min(grace_s + _KILL_S, left_s / _SHARE))


def _stop(program: Supervised, streams: Streams, until_s: float) -> int:
    """Stop the program, and read what it writes meanwhile, so that it cannot block."""
    if program.process.poll() is None:
        program.release()
    while program.process.poll() is None and (left := until_s - time.monotonic()) > 0:
        _go_on(program, streams, min(_LOOK_S, left))
    return program.stop(max(_MIN_STOP_S, until_s - time.monotonic()))


def _go_on(program: Supervised, streams: Streams, wait_s: float) -> None:
    if streams.is_done:
        program.wait(wait_s)
    else:
        streams.move(wait_s)
