"""Whether anybody else has changed a folder: told by the folder's time.

The kernel's clock for this goes by ticks of some milliseconds: two changes within one
tick leave the same time. So a folder that has just changed is given a time of its own,
less than a microsecond later, which no change of the kernel's own gives it. Where the
file system keeps no such times, nothing is told.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Longer than any tick: a folder that has not changed since shows every change.
_SETTLED_NS = 1_000_000_000


class Untouched:
    """A folder that nobody but us has changed, as long as that is so.

    Args:
        fd: the folder, held open.
        since_ns: its time, as `since_ns` told it before; None for from now on.
    """

    def __init__(self, fd: int, since_ns: int | None = None) -> None:
        self._fd = fd
        self._time_ns = since_ns
        if since_ns is not None:
            return
        changed_ns = os.fstat(fd).st_mtime_ns
        # Left as it is, if that will do: hooks ask whether it changed (hooks/lib.sh).
        is_settled = time.time_ns() - changed_ns > _SETTLED_NS
        self._time_ns = changed_ns if is_settled else _mark(fd)

    def since_ns(self) -> int | None:
        """The folder's time, in nanoseconds; None if somebody else has changed it."""
        is_ours = self._time_ns == os.fstat(self._fd).st_mtime_ns
        return self._time_ns if is_ours else None

    @contextmanager
    def but_for_us(self) -> Iterator[None]:
        """Make one change of ours within the block."""
        known_ns = self.since_ns()
        yield
        self._time_ns = None if known_ns is None else _mark(self._fd)


def _mark(fd: int) -> int | None:
    """Give a folder a time of its own; None where that cannot be."""
    facts = os.fstat(fd)
    marked_ns = facts.st_mtime_ns + 1 + time.time_ns() % 998
    try:
        os.utime(fd, ns=(facts.st_atime_ns, marked_ns))
    except OSError:
        return None
    return marked_ns if os.fstat(fd).st_mtime_ns == marked_ns else None
