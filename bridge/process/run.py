"""Run a program with its input, until it ends or is wanted no more.

Bounded whatever the program does: in time, in output, and by our own life. `keeper`
stands between it and us and ends everything that it started.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from bridge.process.supervised import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

# Between SIGTERM and SIGKILL; and how much longer than that the keeper may take.
GRACE_S = 2.0
_LATEST_S = 3.0
# Whoever stops with no time left has so long to be sure that nothing is.
_LEAST_S = 0.1
# How long the keeper may take to kill what is left, and to see it gone.
_BURIAL_S = 0.5
# Both together are at most this part of the time that there was.
_SHARE = 4
_LOOK_S = 0.2
_CHUNK = 1 << 16
_MAX_STDERR = 1 << 16

End = Literal["exited", "deadline", "stopped", "too much output"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended.

    `exit_code` is 128 + N after signal N, 127 when it could not be started; `stderr` is
    the end of what it said there.
    """

    how: End
    exit_code: int
    stdout: bytes
    stderr: str


def run(
    command: Sequence[str],
    *,
    stdin: bytes,
    env: Mapping[str, str],
    folder: Path,
    deadline_s: float,
    should_stop: Callable[[], bool],
    max_stdout: int,
    grace_s: float = GRACE_S,
) -> Ended:
    """Run `command` in `folder`; nothing of it is left on return, or on an interrupt.

    `deadline_s` is on the monotonic clock, and it returns by then: at the end of its
    time the program has `grace_s` of it to end by itself, and less where there is
    little. `should_stop` is asked several times a second.
    """
    stop_s = deadline_s - grace_within(deadline_s - time.monotonic(), grace_s)

    def left_s() -> float:
        return max(_LEAST_S, min(grace_s + _LATEST_S, deadline_s - time.monotonic()))

    with ExitStack() as stack:
        kept = Kept(
            command,
            grace_s=grace_s,
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        stack.callback(lambda: kept.see_off(left_s()))
        talk = stack.enter_context(_Talk(kept.process, stdin, max_stdout))
        how: End = "exited"
        while talk.goes_on:
            if time.monotonic() >= stop_s:
                how = "deadline"
            elif should_stop():
                how = "stopped"
            elif talk.is_too_much:
                how = "too much output"
            else:
                talk.go_on(min(_LOOK_S, max(0.0, stop_s - time.monotonic())))
                continue
            break
        code = kept.see_off(left_s())
        talk.finish()
        code = 128 - code if code < 0 else code
        return Ended(how, code, bytes(talk.stdout), talk.complaints)


def grace_within(left_s: float, grace_s: float) -> float:
    """How long before its deadline a program that has `left_s` is told to end."""
    return max(0.0, min(grace_s + _BURIAL_S, left_s / _SHARE))


class _Talk:
    """What goes in and what comes out, a little at a time; nothing blocks."""

    def __init__(
        self, process: subprocess.Popen[bytes], stdin: bytes, max_stdout: int
    ) -> None:
        self.stdout = bytearray()
        self._stderr = bytearray()
        self._process = process
        self._left = memoryview(stdin)
        self._max_stdout = max_stdout
        self._selector = selectors.DefaultSelector()
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None  # noqa: S101
            os.set_blocking(stream.fileno(), False)
            events = (
                selectors.EVENT_WRITE
                if stream is process.stdin
                else selectors.EVENT_READ
            )
            self._selector.register(stream, events)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        for stream in (
            self._process.stdin,
            self._process.stdout,
            self._process.stderr,
        ):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()

    @property
    def goes_on(self) -> bool:
        """Whether the keeper is there. It outlives everything that could speak."""
        return self._process.poll() is None

    @property
    def is_too_much(self) -> bool:
        """Whether more was said than may be."""
        return len(self.stdout) > self._max_stdout

    @property
    def complaints(self) -> str:
        """The end of what came on stderr."""
        return self._stderr.decode("utf-8", "replace").strip()

    def go_on(self, wait_s: float) -> bool:
        """Move what can be moved within `wait_s` seconds; False when nothing could."""
        moved = False
        if not self._selector.get_map():
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(wait_s)
            return False
        for key, _ in self._selector.select(wait_s):
            if key.fileobj is self._process.stdin:
                self._write(key.fd)
            else:
                moved |= self._read(key)
        return moved

    def finish(self) -> None:
        """Read what is still in the pipes."""
        while not self.is_too_much and self.go_on(0):
            pass

    def _write(self, fd: int) -> None:
        with suppress(BlockingIOError):
            try:
                self._left = self._left[os.write(fd, self._left[:_CHUNK]) :]
            except BrokenPipeError:
                self._left = self._left[:0]
        if not self._left:
            stream = self._process.stdin
            assert stream is not None  # noqa: S101
            self._selector.unregister(stream)
            with suppress(BrokenPipeError):
                stream.close()

    def _read(self, key: selectors.SelectorKey) -> bool:
        try:
            part = os.read(key.fd, _CHUNK)
        except BlockingIOError:
            return False
        if not part:
            self._selector.unregister(key.fileobj)
            return False
        if key.fileobj is self._process.stdout:
            self.stdout += part
        else:
            self._stderr = (self._stderr + part)[-_MAX_STDERR:]
        return True
