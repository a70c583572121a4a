"""Run a granted command: no shell, bounded in time and output, nothing left behind.

A keeper (`bridge.process`) starts it and ends it with all of its processes; here its
output is read, counted and digested, and only its two ends are kept.
"""

from __future__ import annotations

import hashlib
import os
import select
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.config import environment_for_a_client
from bridge.process.run import grace_within
from bridge.process.supervised import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bridge.store.clock import Clock

KEPT_BYTES = 16_000
# Not a command's to read: it speaks for the user at another machine.
_SECRETS = frozenset({"BRIDGE_OPENAI_API_KEY"})
_GRACE_S = 0.3
_STEP_S = 0.1
# The keeper needs its grace, and a moment to bury what it finds.
_ENDING_S = 3.0
_LEAST_S = 0.1


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ran.

    `exit_code` is None when it was ended at its limit of time. `output` is what it
    wrote, both streams as they came, cut in the middle; `digest` the SHA-256 of all of
    its `size` bytes.
    """

    command: str
    exit_code: int | None
    output: str
    digest: str
    size: int

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, and well."""
        return self.exit_code == 0


def run_command(
    command: str,
    argv: Sequence[str],
    *,
    folder: Path,
    deadline_s: float,
    clock: Clock,
    env: Mapping[str, str] | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Ran:
    """Run `argv` in `folder` until it ends, or until `deadline_s` (monotonic).

    It returns by then: the time to end by itself is a part of that. `env` is added to
    the environment.

    Raises:
        OSError: the system starts no more processes.
    """
    ward = Kept(
        argv,
        grace_s=_GRACE_S,
        has_walls=True,
        cwd=folder,
        env=_environment() | dict(env or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    kept = _Kept()
    is_over = False
    stop_s = deadline_s - grace_within(deadline_s - clock.monotonic_s(), _GRACE_S)
    with ward.process as keeper:
        assert keeper.stdout is not None  # noqa: S101 - asked for just above
        out = keeper.stdout.fileno()
        os.set_blocking(out, False)
        try:
            while keeper.poll() is None and not is_over:
                kept.read(out, _STEP_S)
                is_over = clock.monotonic_s() >= stop_s or is_cancelled()
        finally:
            if keeper.poll() is None:
                ward.let_go()
            left_s = deadline_s - clock.monotonic_s()
            _drain(ward, kept, out, max(_LEAST_S, min(_ENDING_S, left_s)))
    return Ran(
        command=command,
        exit_code=None if is_over else keeper.returncode,
        output=kept.text(),
        digest=kept.digest.hexdigest(),
        size=kept.size,
    )


def _environment() -> dict[str, str]:
    """Ours, without what is nobody else's, and what tells of a session around us."""
    known = environment_for_a_client()
    return {name: value for name, value in known.items() if name not in _SECRETS}


def _drain(ward: Kept, kept: _Kept, out: int, left_s: float) -> None:
    """Take what is left to read, until the keeper is done with its work."""
    for _ in range(max(1, int(left_s / _STEP_S))):
        if ward.process.poll() is not None:
            break
        kept.read(out, _STEP_S)
    ward.see_off(0 if ward.process.poll() is None else _ENDING_S)
    # Its pipe may be held by a process that got away: not ours to wait for.
    while kept.read(out, 0.0):
        if kept.is_full():
            break


class _Kept:
    """The two ends of an output, and the digest of all of it."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.size = 0
        self._head = b""
        self._tail = b""
        self._ended = False

    def read(self, fd: int, wait_s: float) -> bool:
        """Take what is there within `wait_s`; False when there was nothing."""
        if self._ended:
            select.select([], [], [], wait_s / 10)
            return False
        if not select.select([fd], [], [], wait_s)[0]:
            return False
        data = b""
        with suppress(BlockingIOError):
            data = os.read(fd, 1 << 18)
            self._ended = not data
        self.add(data)
        return bool(data)

    def add(self, data: bytes) -> None:
        """Take more of the output."""
        self.digest.update(data)
        self.size += len(data)
        room = KEPT_BYTES // 2 - len(self._head)
        self._head += data[:room]
        self._tail = (self._tail + data[room:])[-KEPT_BYTES // 2 :]

    def is_full(self) -> bool:
        """Whether what is to come would not be kept for long anyway."""
        return self.size > 1 << 30

    def text(self) -> str:
        """What was kept, with the size of the gap."""
        gap = self.size - len(self._head) - len(self._tail)
        middle = f"\n… {gap:,} bytes left out …\n".encode() if gap else b""
        return (self._head + middle + self._tail).decode("utf-8", "replace")
