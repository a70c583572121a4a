"""A program behind a keeper, seen from whoever asked for it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.process.supervisor import kill_descendants

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEEPER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("supervisor.py")))
# What was killed takes a moment to be gone; what cannot be killed is not waited for.
_MAX_KILLS = 50
_STEP_S = 0.01


class Kept:
    """A running keeper: `process` has the program's streams and its exit code.

    Args:
        command: the program and its arguments.
        grace_s: between SIGTERM and SIGKILL.
        has_walls: it is to signal only what it has started, where the kernel can.
        options: for `subprocess.Popen`: folder, environment, streams.

    Raises:
        OSError: the system starts no more processes, or there is no such folder.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        grace_s: float,
        has_walls: bool = False,
        **options: Any,
    ) -> None:
        lifeline, ours = os.pipe()
        self._ours: int | None = ours
        self._grace_s = grace_s
        words = (str(lifeline), str(grace_s), str(int(has_walls)), *command)
        try:
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                [*_KEEPER, *words],
                pass_fds=[lifeline],
                start_new_session=True,
                **options,
            )
        except OSError:
            self.let_go()
            raise
        finally:
            os.close(lifeline)

    def let_go(self) -> None:
        """Have the keeper end everything; returns at once."""
        if self._ours is not None:
            os.close(self._ours)
            self._ours = None

    def see_off(self, wait_s: float) -> int:
        """End everything, by force after `wait_s` seconds; the exit code.

        Negative, as `subprocess` has it, where somebody killed the guard: then the
        keeper below it is ending everything, and it is waited for as long.
        """
        if self.process.poll() is not None:
            self._wait_for_the_keeper(wait_s)
        self.let_go()
        try:
            return self.process.wait(wait_s)
        except subprocess.TimeoutExpired:
            # Stopped, both of them, by what they were to end.
            for _ in range(_MAX_KILLS):
                if not kill_descendants(self.process.pid):
                    break
                time.sleep(_STEP_S)
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            return self.process.wait()

    def _wait_for_the_keeper(self, wait_s: float) -> None:
        """Wait until nobody has the other end of the lifeline."""
        if self._ours is None or self.process.returncode >= 0:
            return
        poll = select.poll()
        # The error that a pipe without readers has is always waited for.
        poll.register(self._ours, 0)
        poll.poll(wait_s * 1000)
