"""Notice that something has changed which an answer rests on.

It looks: the kernel's watches are scarce, and a tree of folders takes one for each. A
look compares statuses, reads only what has another one, and takes at most a tenth of a
processor. A change counts once two
looks have found the same: by then a save or a checkout is over. What never comes to
rest, such as a log, counts half a minute after the look that found it.
"""

from __future__ import annotations

import time

from bridge.api.stale import Freshness
from bridge.errors import InvalidRequest
from bridge.freshness.disk import Disk, Unknowable
from bridge.freshness.never_reused import why_never
from bridge.freshness.reads import Entry, Reads, Tree, differences
from bridge.store.clock import Clock, SystemClock

# How long a change may go on before it counts all the same.
MOST_S = 30.0
_SHORTEST_S = 0.25
_SHARE = 9


class Watched:
    """What an answer rests on; of one that does not say, all of the project.

    Attributes:
        why_all: why all of the project is watched; empty if it is not.
        pause_s: how long to wait until the next look.
        restless: what was still changing at the last look; empty if all was quiet.
    """

    def __init__(
        self, reads: Reads, why_all: str = "", *, clock: Clock | None = None
    ) -> None:
        self.why_all = why_all
        self.pause_s = _SHORTEST_S
        self.restless = ""
        self._clock = clock or SystemClock()
        self._since_s = 0.0
        self._reads = reads
        self._found: set[tuple[str, ...]] = set()

    def has_changed(self) -> bool:
        """Look: whether something has changed, and is quiet again, or never will be."""
        began_s = time.thread_time()
        before, self._found = self._found, self._look()
        spent_s = time.thread_time() - began_s
        self.pause_s = max(_SHORTEST_S, _SHARE * spent_s)
        now_s = self._clock.monotonic_s()
        if not before:
            self._since_s = now_s
        if not self._found:
            return False
        moving = sorted(self._found ^ before)
        self.restless = moving[0][1] if moving else ""
        return not moving or now_s - self._since_s >= MOST_S

    def _look(self) -> set[tuple[str, ...]]:
        """What differs and where, each with the status that it has now."""
        disk = Disk()
        found: set[tuple[str, ...]] = set()
        try:
            for each in differences(self._reads, disk):
                found.add((*each, disk.see(each.path).facts))
        except Unknowable as exc:
            found.add(("unknown", str(exc)))
        return found


def watch(freshness: Freshness, request_id: str | None) -> Watched:
    """What the answer of a request rests on, or all of the project from now on."""
    project = str(freshness.project)
    if request_id is None:
        return Watched(_as_it_is(project))
    try:
        (given,) = freshness.given([request_id])
    except InvalidRequest as exc:
        return Watched(_as_it_is(project), exc.what)
    never = why_never(given)
    if never is not None and never.is_doubt:
        return Watched(_as_it_is(project), f"request {request_id}: {never.says}")
    return Watched(given.reads)


def _as_it_is(project: str) -> Reads:
    """All of a project as it is now; nothing of it is read."""
    try:
        found = Disk().walk(project, (), is_all=True).found
    except Unknowable as exc:
        raise InvalidRequest(f"{project} cannot be watched: {exc}") from None
    entries = {name: Entry(seen.kind, "", seen.facts) for name, seen in found.items()}
    tree = Tree("everything", project, (), entries)
    return Reads("", "", project, "", 0, trees=(tree,))
