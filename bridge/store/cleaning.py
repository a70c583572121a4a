"""When the state of a project is cleaned up by itself: once a day.

    cleaned.json         what the last time took; its mtime says when it was begun
    locks/cleaning.lock  held while it goes on

Whatever runs then starts a process for it (`bridge/api/clean_up.py`), and nobody waits
for that. A state is left alone on its first day, and on the first after a month without
a look: so a clock that is years ahead for some hours removes nothing.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import BridgeError
from bridge.protocol import plain_json

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.store.prune import Pruned
    from bridge.store.store import Store

FILE, LOCK = "cleaned.json", "cleaning.lock"
EVERY_S = 86_400.0
_LONG_S = 30 * EVERY_S
_MADE = "locks/store.lock"


class Cleaned(NamedTuple):
    """The last time: how long ago it ended, and how much it removed.

    `worktrees` are the folders of those that it removed.
    """

    ago_s: float
    requests: int
    freed_bytes: int
    worktrees: tuple[str, ...] = ()


def start_if_due(store: Store, settings: Settings) -> bool:
    """Start the process that cleans up, if it is due; whether it was started."""
    if not is_due(store, settings):
        return False
    from bridge.process.detached import start_detached

    is_long = _since_s(store) > _LONG_S
    with suppress(BridgeError, OSError):
        with store.state(make=False) as state:
            # First, so that one that cannot begin is not tried at each request.
            state.directory.beat(FILE)
        if is_long:
            return False
        return start_detached(store.place, "bridge.api.clean_up")
    return False


def is_due(store: Store, settings: Settings) -> bool:
    """Whether it is time; two looks at most, as callers are many."""
    if not (settings.keep_days or settings.keep_mib):
        return False
    return not 0 <= _since_s(store) < EVERY_S


def _since_s(store: Store) -> float:
    """How long ago it was begun, or the state was made; 0 if neither is known."""
    for name in (FILE, _MADE):
        with suppress(OSError):
            return time.time() - os.lstat(f"{store.place.state}/{name}").st_mtime
    return 0.0


def note_end(store: Store, gone: Pruned) -> None:
    """Write down what was removed."""
    said = {
        "schemaVersion": 1,
        "at": store.now_ms(),
        "requests": gone.requests,
        "freedBytes": gone.freed_bytes,
        "worktrees": [str(each.folder) for each in gone.removed_worktrees],
    }
    with store.state() as state:
        state.directory.replace(FILE, plain_json.dumps(said, line=True), durable=False)


def last(store: Store) -> Cleaned | None:
    """The last time that was ended; None if there was none that can be read."""
    with suppress(BridgeError, OSError, ValueError, TypeError, LookupError):
        with store.state(make=False) as state:
            said = plain_json.loads(state.directory.read(FILE) or b"")
        ago_s = (store.now_ms() - int(said["at"])) / 1000
        folders = tuple(map(str, said.get("worktrees", ())))
        return Cleaned(ago_s, int(said["requests"]), int(said["freedBytes"]), folders)
    return None
