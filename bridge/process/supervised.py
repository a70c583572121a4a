"""Start a program under `supervisor.py`, and stop it."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bridge.own_files import open_pipe
from bridge.process.supervisor import kill_descendants

_SUPERVISOR = (
    sys.executable, "-I", "-S", str(Path(__file__).with_name("supervisor.py")),
)  # fmt: skip
# A killed process takes a moment to end; one that cannot be killed is left alone.
_MAX_KILLS = 50
_STEP_S = 0.01


class Supervised:
    """A running program: `process` has its streams and its exit code.

    Args:
        command: the program and its arguments.
        grace_s: the time between SIGTERM and SIGKILL.
        is_confined: it may signal only what it started, if the kernel supports that.
        options: for `subprocess.Popen`: folder, environment, streams.

    Raises:
        OSError: the system starts no more processes, or there is no such folder.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        grace_s: float,
        is_confined: bool = False,
        **options: Any,
    ) -> None:
        # A copy in a child made by fork would keep the program running.
        lifeline, self._ours = open_pipe()
        theirs = lifeline.fileno()
        words = (str(theirs), str(grace_s), str(int(is_confined)), *command)
        try:
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                [*_SUPERVISOR, *words],
                pass_fds=[theirs],
                start_new_session=True,
                **options,
            )
        except OSError:
            self.release()
            raise
        finally:
            lifeline.close()

    def wait(self, wait_s: float) -> None:
        """Wait up to `wait_s` for its end."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(wait_s)

    def release(self) -> None:
        """Let the supervisor stop everything; returns at once."""
        self._ours.close()

    def stop(self, wait_s: float) -> int:
        """Stop everything, by force after `wait_s` seconds; returns the exit code.

        As in `subprocess`, it is negative if the guard was killed. Then the keeper
        stops everything, and this waits for it, too.
        """
        if self.process.poll() is not None:
            self._wait_for_keeper(wait_s)
        self.release()
        self.wait(wait_s)
        if self.process.poll() is None:
            # The program has stopped guard and keeper (SIGSTOP).
            for _ in range(_MAX_KILLS):
                if not kill_descendants(self.process.pid):
                    break
                time.sleep(_STEP_S)
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        return self.process.wait()

    def _wait_for_keeper(self, wait_s: float) -> None:
        """Wait until the other end of the lifeline is closed."""
        if self._ours.closed or self.process.returncode >= 0:
            return
        poll = select.poll()
        # A pipe without readers is an error, which poll always reports.
        poll.register(self._ours, 0)
        poll.poll(wait_s * 1000)
