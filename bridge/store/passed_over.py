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

from bridge.protocol.ids import is_id
from bridge.store.directory import NotAPlainFile
from bridge.store.state import State

_LATER = "later "
_WHY = re.compile(rf"other|newer|full|{_LATER}[0-9]{{1,16}}")

# Every claim checks this many: below that, nothing is worth remembering.
FEW = 64
# A larger file is not ours.
_MAX_BYTES = 64 * 1024 * 1024


class Passed:
    """The memory of one session; the lock is held when it is read and saved."""

    def __init__(self, state: State, session: str) -> None:
        self._folder = state["sessions"]
        self._file = f"{session}.passed"
        self._now_ms = int(state.clock.monotonic_s() * 1000)
        self._known = self._read()
        self._looked_at: set[str] = set()
        self._is_changed = False

    def __len__(self) -> int:
        return len(self._known)

    def holds(self, name: str, *, is_full: bool) -> bool:
        """Whether this id need not be looked at; `is_full`: no slot is free."""
        why = self._known.get(name, "")
        if why.startswith(_LATER):
            return self._now_ms < int(why.removeprefix(_LATER))
        return bool(why) and (is_full or why != "full")

    def note(self, name: str, fate: str) -> None:
        """It was checked just now: remember it if it was passed over, or forget it."""
        before = self._known.pop(name, None)
        if _WHY.fullmatch(fate):
            self._known[name] = fate
            self._looked_at.add(name)
        self._is_changed |= name in self._known or before is not None

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
                self._folder.replace_unsynced(self._file, lines.encode())
        except OSError:
            return False
        return True

    def _read(self) -> dict[str, str]:
        with suppress(NotAPlainFile, UnicodeDecodeError):
            data = self._folder.read(self._file, _MAX_BYTES) or b""
            lines = (line.partition(" ") for line in data.decode().splitlines())
            return {
                name: why
                for name, _, why in lines
                if is_id(name) and _WHY.fullmatch(why)
            }
        return {}
