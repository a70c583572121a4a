"""Hold on to the worker: start it, talk with it, end it, and tell how it ended.

Whatever the worker does (die, hang, write nonsense), a call here returns by its
deadline. After its end there is nothing left: no process, no zombie, no descriptor.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.agent_loop.chat_model import LOOK_S, never
from bridge.config import environment
from bridge.llama import out_of_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping

_TAIL_BYTES = 4096
_MAX_LINE = 64 << 20
# What a failed assertion of llama.cpp says before a debugger's backtrace, which may be
# longer than what is kept: file, line and the assertion.
_ASSERTION = re.compile(rb"^\S+\.(?:c|cc|cpp|cu|cuh|h|hpp|m):\d+: .+$", re.MULTILINE)
_MAX_ASSERTION = 400


class WorkerDied(Exception):
    """The worker is gone; the message says how it ended."""


class WorkerUnwanted(Exception):
    """What the worker was asked for is wanted no more; it is at work all the same."""


class WorkerHung(Exception):
    """The worker said nothing by the deadline."""


class Process:
    """A worker: `bridge.llama.model_worker`, in a session of its own."""

    def __init__(self) -> None:
        self._pid: int | None = None
        self._owner = os.getpid()
        self._end: str | None = None
        self._tail = self._assertion = b""
        self._limit_bytes = 0
        self._killed_before = out_of_memory.kernel_kills()
        self._heard = b""
        self._unsent = b""
        # -P and the folder: a project's own `bridge` or `numpy` is not imported, and
        # llama.cpp, which looks for its parts in the working folder, too, finds none.
        arguments = [sys.executable, "-P", "-m", "bridge.llama.model_worker"]
        if threading.current_thread() is threading.main_thread():
            arguments.append(str(os.getpid()))
        child = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
        self._child, self._pid = child, child.pid
        assert child.stdin and child.stdout and child.stderr  # noqa: S101, PT018 - pipes
        self._in, self._out, self._err = child.stdin, child.stdout, child.stderr
        for stream in (self._in, self._out, self._err):
            os.set_blocking(stream.fileno(), False)

    @property
    def pid(self) -> int | None:
        """Of the worker; None when it is gone."""
        return self._pid

    def tell(self, order: dict[str, Any]) -> None:
        """Give an order; what the pipe does not take now, the next exchange sends."""
        self._limit_bytes = order.get("memoryBytes", self._limit_bytes)
        self._unsent += json.dumps(order).encode() + b"\n"
        # Of its end the exchange tells.
        with suppress(BrokenPipeError):
            self._send()

    def exchange(
        self,
        order: dict[str, Any],
        *,
        deadline_s: float,
        should_stop: Callable[[], bool] = never,
    ) -> Iterator[dict[str, Any]]:
        """Give an order, and yield what the worker says; ends only by being closed.

        `deadline_s` is on the monotonic clock; `should_stop` is asked every moment.

        Raises:
            WorkerDied: it is gone.
            WorkerHung: the deadline passed.
            WorkerUnwanted: it is to stop.
        """
        self.tell(order)
        with selectors.DefaultSelector() as selector:
            selector.register(self._out, selectors.EVENT_READ)
            selector.register(self._err, selectors.EVENT_READ)
            if self._unsent:
                selector.register(self._in, selectors.EVENT_WRITE)
            while True:
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    raise WorkerHung
                if should_stop():
                    raise WorkerUnwanted
                for key, _ in selector.select(min(left_s, LOOK_S)):
                    if key.fileobj is self._in:
                        self._send_on()
                        if not self._unsent:
                            selector.unregister(self._in)
                    elif key.fileobj is self._err:
                        if not self._drain():
                            selector.unregister(self._err)
                    else:
                        yield from self._hear()

    def kill(self) -> None:
        """End it and what it may have started, at once; its streams stay open."""
        # A fork of ours has this object, too, and must not end what is not its own.
        if self._pid is not None and self._owner == os.getpid():
            # It leads its own group; as it was not waited for, the number is its own.
            with suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)

    def close(self) -> str:
        """End it, and let go of everything; returns how it ended."""
        self.kill()
        if self._pid is not None and self._owner == os.getpid():
            _, status, usage = os.wait4(self._pid, 0)
            self._pid = None
            self._child.returncode = os.waitstatus_to_exitcode(status)
            self._drain()
            self._end = self._describe(self._child.returncode, usage.ru_maxrss)
            for stream in (self._in, self._out, self._err):
                stream.close()
        return self._end or ""

    def last_words(self) -> str:
        """The last lines that it wrote to stderr."""
        lines = self._tail.decode(errors="replace").strip().splitlines()
        return "; ".join(line.strip() for line in lines[-3:])[-500:]

    def _send(self) -> None:
        with suppress(BlockingIOError):
            sent = os.write(self._in.fileno(), self._unsent)
            self._unsent = self._unsent[sent:]

    def _send_on(self) -> None:
        try:
            self._send()
        except BrokenPipeError:
            raise WorkerDied(self.close()) from None

    def _hear(self) -> Iterator[dict[str, Any]]:
        try:
            part = os.read(self._out.fileno(), 1 << 16)
        except BlockingIOError:
            return
        self._heard += part
        if not part or len(self._heard) > _MAX_LINE:
            raise WorkerDied(self.close())
        *lines, self._heard = self._heard.split(b"\n")
        for line in lines:
            yield self._read(line)

    def _read(self, line: bytes) -> dict[str, Any]:
        """What a line says; a worker that writes anything else is out of its mind."""
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict) or "is" not in said:
            self.close()
            raise WorkerDied(f"the model's process wrote nonsense: {line[:80]!r}")
        return said

    def _drain(self) -> bool:
        """Keep the end of what stderr holds; False when it was closed."""
        with suppress(BlockingIOError):
            while part := os.read(self._err.fileno(), 1 << 16):
                heard = self._tail + part
                if found := _ASSERTION.findall(heard):
                    self._assertion = found[-1][:_MAX_ASSERTION]
                self._tail = heard[-_TAIL_BYTES:]
            return False
        return True

    def _describe(self, code: int, peak: int) -> str:
        words = self.last_words()
        if code == -signal.SIGABRT and self._assertion:
            words = self._assertion.decode(errors="replace")
        # Kibibytes, but bytes on macOS.
        held = f"it held up to {peak >> (20 if sys.platform == 'darwin' else 10)} MiB"
        if self._limit_bytes:
            held += f", its memory is limited to {self._limit_bytes >> 20} MiB"
        if code < 0:
            name = signal.Signals(-code).name
            end = f"the model's process was ended by {name}; {held}"
        else:
            end = f"the model's process ended by itself with code {code}; {held}"
        if out_of_memory.is_told(words):
            end += "; it ran out of memory"
        elif (
            code == -signal.SIGKILL
            and out_of_memory.kernel_kills() > self._killed_before
        ):
            end += "; the system ran out of memory, and killed it"
        elif code == -signal.SIGKILL:
            end += "; somebody killed it, or the system, short of memory, did"
        return f"{end}: {words}" if words else end


def quiet_threads(env: MutableMapping[str, str]) -> None:
    """Have the threads of llama.cpp wait without spinning.

    They meet after each operation. Where something else wants the cores, those that
    spin take the time of the one that they wait for: a prompt then takes twice as long.
    Whoever has chosen otherwise keeps that.
    """
    env.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # For numpy, which only looks for the largest number here.
    env.setdefault("OPENBLAS_NUM_THREADS", "1")


def quiet_debugger(env: MutableMapping[str, str]) -> None:
    """Have a failed assertion of llama.cpp start no debugger on its own process.

    Source: ggml.c, `ggml_print_backtrace`.
    """
    env.setdefault("GGML_NO_BACKTRACE", "1")


def _environment() -> dict[str, str]:
    """Ours, with this very package first."""
    here = str(Path(__file__).parents[2])
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (here, env.get("PYTHONPATH"))))
    quiet_threads(env)
    quiet_debugger(env)
    return env
