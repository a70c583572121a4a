"""Waiting requests that a session has passed over, since they are not for it.

A request for another session or route, or of a newer hostbridge, stays where every
claim would look at it first. Those that a session looked at and left for good are
written down in `sessions/<session>.passed`, one a line with the reason, the longest ago
first:

    1k0t3fvvgkr-n-hj92wn other   for another session or route, or declined
    1k0t3fvvgks-n-8d2m4x newer   only a newer hostbridge reads it
    1k0t3fvvgkt-h-0r7cza full    would need a slot, and none was free
    1k0t3fvvgku-n-3c8w1z later 90000   not before this uptime, in milliseconds

A claim looks at everything else before, and then at a few of these in turn, since a
file may have been changed. With few to pass over there is no file.

Nothing depends on it: a missing or wrong line only costs time.
"""

import re
from contextlib import suppress
from itertools import islice
from typing import Literal, get_args

from bridge.protocol.ids import is_id
from bridge.store.directory import NotAPlainFile
from bridge.store.state import State

Why = Literal["other", "newer", "full"]
_LATER = re.compile(r"later ([0-9]{1,16})")

# Every claim checks this many: below that, nothing is worth remembering.
FEW = 64
# A larger file is not ours.
_MAX_BYTES = 64 * 1024 * 1024

_WHYS = frozenset(get_args(Why))


class Passed:
    """The memory of one session; the lock is held when it is read and saved."""

    def __init__(self, state: State, session: str) -> None:
        self._folder = state["sessions"]
        self._file = f"{session}.passed"
        self._now_ms = int(state.clock.monotonic_s() * 1000)
        # Of those whose time is to come: the uptime at which it is.
        self._until: dict[str, int] = {}
        self._known = self._read()
        self._looked_at: set[str] = set()
        self._is_changed = False

    def __len__(self) -> int:
        return len(self._known)

    def find(self, name: str, *, is_full: bool) -> str | None:
        """Why this id need not be looked at; `is_full`: no slot is free."""
        why = self._known.get(name)
        if why is not None and name in self._until:
            return why if self._now_ms < self._until[name] else None
        return why if is_full or why != "full" else None

    def add_until(self, name: str, pause_ms: int) -> None:
        """It was checked just now, and nobody may take it within this time."""
        self.add(name, f"later {self._now_ms + pause_ms}")
        self._until[name] = self._now_ms + pause_ms

    def add(self, name: str, why: str) -> None:
        """It was checked just now, and left; `why` is one of `Why`."""
        self._until.pop(name, None)
        self._known.pop(name, None)
        self._known[name] = why
        self._looked_at.add(name)
        self._is_changed = True

    def drop(self, name: str) -> None:
        """It is gone, or must no longer be passed over."""
        if self._known.pop(name, None):
            self._is_changed = True

    def longest_ago(self) -> list[str]:
        """A few ids to check again; none that this claim has checked."""
        due = (
            name
            for name, why in self._known.items()
            if why != "full" and name not in self._looked_at
        )
        return list(islice(due, FEW))

    def save(self) -> bool:
        """Write it down; False if that fails."""
        if not self._is_changed:
            return True
        self._is_changed = False
        try:
            if len(self._known) <= FEW:
                self._folder.remove(self._file)
            else:
                lines = "".join(f"{n} {why}\n" for n, why in self._known.items())
                # Not durable: it can be found out again.
                folder, data = self._folder, lines.encode()
                folder.replace_unsynced(self._file, data)
        except OSError:
            return False
        return True

    def _read(self) -> dict[str, str]:
        known: dict[str, str] = {}
        with suppress(NotAPlainFile, UnicodeDecodeError):
            data = self._folder.read(self._file, _MAX_BYTES) or b""
            for line in data.decode().splitlines():
                name, _, why = line.partition(" ")
                if not is_id(name):
                    continue
                if why in _WHYS:
                    known[name] = why
                elif later := _LATER.fullmatch(why):
                    known[name] = why
                    self._until[name] = int(later[1])
        return known
