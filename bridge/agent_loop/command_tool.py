"""Run a command that the definition allows: without a shell, limited in time.

`bridge.process` stops it with everything that it started. This module counts and
digests its output, and keeps only the beginning and the end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.config import environment_for_a_client
from bridge.process.ending import how_it_ended
from bridge.process.run import run

if TYPE_CHECKING:
    from pathlib import Path

KEPT_BYTES = 16_000
# With these a command could act for the user on another machine.
_SECRETS = frozenset({"BRIDGE_OPENAI_API_KEY", "BRIDGE_QUEUE_PASSWORD"})
_GRACE_S = 0.3


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ran.

    `exit_code` is None if it was stopped. `output` is what it wrote to both streams,
    without the middle if that is long; `digest` is the SHA-256 of all its `size` bytes.
    """

    command: str
    exit_code: int | None
    output: str
    digest: str
    size: int

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, and successfully."""
        return self.exit_code == 0

    @property
    def ended(self) -> str:
        """How it ended, in words."""
        if self.exit_code is None:
            return "ended at its time limit"
        return how_it_ended(self.exit_code)


def run_command(
    command: str,
    argv: Sequence[str],
    *,
    folder: Path,
    deadline_s: float,
    env: Mapping[str, str] | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Ran:
    """Run `argv` in `folder` until it ends, or until `deadline_s` (monotonic).

    It returns by then. `env` is added to the environment.

    Raises:
        OSError: the system starts no more processes.
    """
    output = _TwoEnds()
    ended = run(
        argv,
        output,
        stdin=None,
        env=environment() | dict(env or {}),
        folder=folder,
        deadline_s=deadline_s,
        should_stop=is_cancelled,
        grace_s=_GRACE_S,
        is_confined=True,
    )
    return Ran(
        command=command,
        exit_code=ended.exit_code if ended.how == "exited" else None,
        output=output.text(),
        digest=output.digest.hexdigest(),
        size=output.size,
    )


def environment() -> dict[str, str]:
    """Our environment, without secrets and without traces of a session."""
    known = environment_for_a_client()
    return {name: value for name, value in known.items() if name not in _SECRETS}


class _TwoEnds:
    """The beginning and the end of an output, and the digest of all of it."""

    # An output of any length is fine: only its ends are kept.
    is_full = False

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.size = 0
        self._head = b""
        self._tail = b""

    def add(self, data: bytes) -> None:
        self.digest.update(data)
        self.size += len(data)
        room = KEPT_BYTES // 2 - len(self._head)
        self._head += data[:room]
        self._tail = (self._tail + data[room:])[-KEPT_BYTES // 2 :]

    def text(self) -> str:
        """What was kept, and how many bytes are missing in between."""
        gap = self.size - len(self._head) - len(self._tail)
        middle = f"\n… {gap:,} bytes left out …\n".encode() if gap else b""
        return (self._head + middle + self._tail).decode("utf-8", "replace")
