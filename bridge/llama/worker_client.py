"""The process of a model: start it, talk to it, end it, describe its end.

Whatever it does (die, hang, write nonsense), each call returns by its deadline. After
its end nothing is left: no process, no zombie, no descriptor.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bridge.agent_loop.chat_model import LOOK_S, ModelFailed
from bridge.config import environment
from bridge.extras import how_to_rebuild
from bridge.llama import out_of_memory
from bridge.process.ending import cause_of, name_of
from bridge.process.streams import Streams

_MAX_LINE = 64 << 20
# How llama.cpp reports a failed assertion, before the much longer backtrace of a
# debugger: file, line and the assertion.
_ASSERTION = re.compile(r"^\S+\.(?:c|cc|cpp|cu|cuh|h|hpp|m):\d+: .+$", re.MULTILINE)
_MAX_ASSERTION = 400


class WorkerProcess:
    """A worker, `bridge.llama.model_worker`, in its own session.

    It is our own program and starts no other, so it needs no supervisor, which would
    delay each local request. The kernel ends it with us, see `model_worker`.

    Attributes:
        pid: its pid; None once it is gone.
    """

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._end = ""
        self._limit_bytes = 0
        self._killed_before = out_of_memory.kernel_kills()
        self._received = bytearray()
        # -P and `cwd`: no `bridge` or `numpy` of the project is imported, and no part
        # of llama.cpp is loaded from it, which looks in the working folder as well.
        arguments = [sys.executable, "-P", "-m", "bridge.llama.model_worker"]
        if threading.current_thread() is threading.main_thread():
            arguments.append(str(os.getpid()))
        self._child = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
        self.pid: int | None = self._child.pid
        self._streams = Streams(self._child, self._received.extend)

    def send(self, order: dict[str, Any]) -> None:
        """Send an order; what does not fit into the pipe now is sent later."""
        self._limit_bytes = order.get("memoryBytes", self._limit_bytes)
        self._streams.send(json.dumps(order).encode() + b"\n")

    def exchange(
        self,
        order: dict[str, Any],
        *,
        deadline_s: float,
        should_stop: Callable[[], bool],
    ) -> Iterator[dict[str, Any]]:
        """Send an order, and yield the worker's answers for as long as they are wanted.

        `deadline_s` is on the monotonic clock; `should_stop` is called several times a
        second.

        Raises:
            ModelFailed: model_died: it is gone. timeout: the deadline passed.
                cancelled: it should stop.
        """
        self.send(order)
        while True:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise ModelFailed(
                    "timeout", "the deadline passed while the model was at work"
                )
            if should_stop():
                raise ModelFailed("cancelled", "the reply is no longer wanted")
            self._streams.move(min(left_s, LOOK_S))
            *lines, rest = self._received.split(b"\n")
            self._received[:] = rest
            for line in lines:
                yield self._parse(bytes(line))
            if len(rest) > _MAX_LINE or not self._streams.stdout_is_open:
                raise ModelFailed("model_died", self.close())

    def kill(self) -> None:
        """End it at once, with everything in its group; its streams stay open."""
        # A fork of this process has this object, too, and must not end its worker.
        if self.pid is not None and self._owner == os.getpid():
            # It leads its own group. Not reaped yet, so the pid cannot be reused.
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> str:
        """End it, and close everything; returns how it ended."""
        self.kill()
        if self.pid is not None and self._owner == os.getpid():
            _, status, usage = os.wait4(self.pid, 0)
            self.pid = None
            self._child.returncode = os.waitstatus_to_exitcode(status)
            while self._streams.move(0):
                pass
            self._end = self._describe(self._child.returncode, usage.ru_maxrss)
            self._streams.close()
        return self._end

    def last_words(self) -> str:
        """The last lines that it wrote to stderr."""
        lines = self._streams.stderr.splitlines()
        return "; ".join(line.strip() for line in lines[-3:])[-500:]

    def _parse(self, line: bytes) -> dict[str, Any]:
        """Parse an answer; a worker that writes anything else is closed."""
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or "is" not in answer:
            self.close()
            raise ModelFailed(
                "model_died", f"the model's process wrote nonsense: {line[:80]!r}"
            )
        return answer

    def _describe(self, code: int, peak: int) -> str:
        last = self.last_words()
        failed = _ASSERTION.findall(self._streams.stderr)
        if code == -signal.SIGABRT and failed:
            last = failed[-1][:_MAX_ASSERTION]
        # Kibibytes, but bytes on macOS.
        held = f"it held up to {peak >> (20 if sys.platform == 'darwin' else 10)} MiB"
        if self._limit_bytes:
            held += f", its memory is limited to {self._limit_bytes >> 20} MiB"
        if code < 0:
            end = f"the model's process was ended by {name_of(code)}; {held}"
        else:
            end = f"the model's process ended by itself with code {code}; {held}"
        if out_of_memory.is_reported(last):
            end += "; it ran out of memory"
        elif (
            code == -signal.SIGKILL
            and out_of_memory.kernel_kills() > self._killed_before
        ):
            end += "; the system ran out of memory, and killed it"
        elif cause := cause_of(code):
            end += f"; {cause}"
        if code == -signal.SIGILL:
            end += f"; rebuild llama.cpp: {how_to_rebuild()}"
        return f"{end}: {last}" if last else end


def tune(env: MutableMapping[str, str]) -> None:
    """Set the environment for llama.cpp and numpy, where the user has not."""
    # Its threads meet after each operation. Spinning threads take time from the one
    # that they wait for: on a busy machine a prompt takes twice as long.
    env.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # numpy does nothing here that threads could speed up.
    env.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A failed assertion starts no debugger. Source: ggml.c, `ggml_print_backtrace`.
    env.setdefault("GGML_NO_BACKTRACE", "1")


def _environment() -> dict[str, str]:
    """Our environment, tuned, with this package first on the path."""
    here = str(Path(__file__).parents[2])
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (here, env.get("PYTHONPATH"))))
    tune(env)
    return env
