"""Claim waiting requests for one claimant: take them, leave them, or end them.

A hook's time is limited, and the lock must be held for only tens of milliseconds: a
walk along the queue covers a few hundred requests, releases the lock, and goes on. What
it passed over is remembered (see `Passed`), so that the next claim begins where this
one was.
"""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from math import inf

from bridge.protocol.ids import RequestId, is_id
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.store import Claimant, Verdict
from bridge.store.claim import expired, is_over, take
from bridge.store.directory import NotAPlainFile
from bridge.store.lock import LockBusy
from bridge.store.queries import MAX_ASKED, Ranks, all_claimed, waiting_in_order
from bridge.store.questions import take_reply
from bridge.store.responses import end
from bridge.store.state import State
from bridge.store.submit import claim_key

# How many requests are checked, and how many overdue ones ended, before the lock is
# released;
_MAX_LOOKED = 512
_MAX_ENDED = 16
# how long all of a claim may take, in seconds;
_MAX_S = 1.0
# how many it leaves for another time: a limit that stops so many, such as a budget,
# stops all;
_MAX_LEFT = 512
# and, with all slots taken, how far it looks for requests of agents beyond those of
# high priority, among which they are.
_MAX_BEYOND = 16

_LATER = "later "
_WHY = re.compile(rf"other|newer|full|{_LATER}[0-9]{{1,16}}")

# Every claim checks this many: below that, nothing is worth remembering.
FEW = 64
# A larger memory is not ours.
_MAX_BYTES = 64 * 1024 * 1024

_MOVED = frozenset({"taken", "ended", "gone"})


def claim(
    state: State,
    claimant: Claimant,
    slots: int,
    judge: Callable[[Request], Verdict],
    *,
    only: RequestId | None = None,
    on_cut: Callable[[], None] = lambda: None,
) -> list[Request]:
    """Claim waiting requests that `judge` accepts, into the claimant's slots.

    Highest priority first, then the oldest; or `only` this one. Overdue requests are
    ended on the way. A request of an agent may use more than `slots`, as many again for
    each agent above it: otherwise an agent that waits for its child would hold the
    child's slot. Takes the lock itself.

    In a long queue that is not for this claimant the time may be up before its end:
    then `on_cut` is called, and the next claim goes on from there.

    Raises:
        LockBusy: nothing was checked.
    """
    taking = _Taking(state, claimant, slots, judge)
    if only is not None:
        with state.hold():
            taking.count_held()
            taking.look_at(only)
    elif not _walk(taking):
        on_cut()
    return taking.taken


def claim_one(
    state: State, request_id: RequestId, claimant: Claimant
) -> Request | None:
    """Take this request; None if it is not waiting, or not yet to be tried again.

    An overdue one is ended instead. The lock is held.
    """
    taking = _Taking(state, claimant, inf, lambda _: "take")
    taking.look_at(request_id)
    return taking.taken[0] if taking.taken else None


def _walk(taking: "_Taking") -> bool:
    """Walk along the queue, in turns with others; False if the time is up before."""
    clock = taking.state.clock
    until_s = clock.monotonic_s() + _MAX_S
    walk: _Walk | None = None
    while walk is None or clock.monotonic_s() < until_s:
        try:
            with taking.state.hold_in_turns():
                walk = walk or _Walk(taking)
                if walk.go_on():
                    return True
        except LockBusy:
            if walk is None:
                raise
            break
    return False


class _Taking:
    """What one claimant takes, request by request. The lock is held."""

    def __init__(
        self,
        state: State,
        claimant: Claimant,
        slots: float,
        judge: Callable[[Request], Verdict],
    ) -> None:
        self.taken: list[Request] = []
        self.state = state
        self.claimant = claimant
        self._slots = slots
        self._judge = judge
        self._held = 0

    def count_held(self) -> None:
        """Count the claimant's requests, after anybody else may have had the lock."""
        self._held = sum(
            r.claim is not None and r.claim.host == self.claimant.host
            for r in all_claimed(self.state)
        )

    def is_full(self) -> bool:
        """Whether no request of a program would find a slot."""
        return self._held >= self._slots

    def look_at(self, request_id: RequestId) -> str:
        """Take one request, leave it, or end it; returns what became of it.

        It is `taken`, `ended` or `gone`; `left` for another time, or `beyond` the slots
        and not urgent; `soon` to be readable, or replied to; or passed over, for one of
        the reasons in `Passed`. With `stop` no more can be taken.
        """
        state = self.state
        over = is_over(state, request_id)
        request = None if over else state.find_waiting(request_id)
        if request is None:
            unread = state.unread.get(request_id)
            return "newer" if unread == "newer" else "soon" if unread else "gone"
        now_ms = state.now_ms()
        request = take_reply(state, request)
        if request.is_paused(now_ms) and now_ms < request.deadline_ms:
            pause_ms = (request.due_ms or now_ms) - now_ms
            until_ms = int(state.clock.monotonic_s() * 1000) + pause_ms
            return f"later {until_ms}" if request.asks is None else "soon"
        has_slot = self._held < self._slots * (1 + request.depth)
        verdict = self._judged(request, has_slot=has_slot)
        if verdict == "pass":
            return "other"
        if verdict == "leave":
            return "left" if has_slot else _beyond(request)
        if isinstance(verdict, Response):
            end(state, request, verdict, source="claim")
            return "ended"
        return self._try_to_take(request)

    def _judged(self, request: Request, *, has_slot: bool) -> Verdict:
        now_ms = self.state.now_ms()
        if now_ms >= request.deadline_ms:
            return expired(request, now_ms)
        verdict = self._judge(request) if has_slot else "leave"
        refused = claim_key(self.state, request) if verdict == "take" else None
        return refused or verdict

    def _try_to_take(self, request: Request) -> str:
        try:
            mine = take(self.state, request, self.claimant)
        except OSError:
            # For example, a full disk. What was taken before is the claimant's.
            if self.taken:
                return "stop"
            raise
        if mine is None:
            return "gone"
        self.taken.append(mine)
        self._held += 1
        return "taken"


def _beyond(request: Request) -> str:
    if request.priority != "high":
        return "beyond"
    return "left" if request.depth else "full"


class _Walk:
    """One claim's walk along the queue: what it has left so far. The lock is held."""

    def __init__(self, taking: _Taking) -> None:
        self._taking = taking
        self._state = taking.state
        self._passed = Passed(taking.state, taking.claimant.session)
        self._left = self._beyond = 0

    def go_on(self) -> bool:
        """Check the next few hundred; True if that is all for this claim."""
        state, passed = self._state, self._passed
        self._taking.count_held()
        state.unread.clear()
        before = len(passed)
        ranks = Ranks(state, most=MAX_ASKED, is_known=self._is_passed)
        is_done, moved = self._follow(waiting_in_order(state, ranks))
        for name, why in state.unread.items():
            if why == "newer":
                passed.note(name, "newer")
        if is_done is None:
            # The end of what was listed. Beyond it there are foreign names only, and
            # they come into sight as those before them go, or are passed over.
            moved += ranks.gone + len(passed) - before
            is_done = not (ranks.is_cut and moved)
            if is_done:
                self._look_again()
        return not passed.save() or is_done

    def _follow(self, ids: Iterable[RequestId]) -> tuple[bool | None, int]:
        """Walk along; whether that is all, None at the end, and how many went away."""
        looked = ended = moved = 0
        for request_id in ids:
            if self._is_passed(request_id):
                continue
            fate = self._look_at(request_id)
            looked += 1
            ended += fate == "ended"
            moved += fate in _MOVED
            self._left += fate in ("left", "beyond")
            self._beyond += fate == "beyond"
            if fate == "stop" or self._left >= _MAX_LEFT or self._beyond >= _MAX_BEYOND:
                return True, moved
            if looked >= _MAX_LOOKED or ended >= _MAX_ENDED:
                return False, moved
        return None, moved

    def _look_at(self, request_id: RequestId) -> str:
        fate = self._taking.look_at(request_id)
        self._passed.note(request_id, fate)
        return fate

    def _is_passed(self, name: str) -> bool:
        return self._passed.holds(name, is_full=self._taking.is_full())

    def _look_again(self) -> None:
        for name in self._passed.longest_ago():
            if self._taking.is_full() or self._look_at(RequestId(name)) == "stop":
                return


class Passed:
    """Waiting requests that a session has passed over, since they are not for it.

    A request for another session or route, or of a newer hostbridge, stays where every
    claim would look at it first. Those that a session looked at and left for good are
    written down in `sessions/<session>.passed`, one a line with the reason, the longest
    ago first:

        1k0t3fvvgkr-n-hj92wn other   for another session or route, or declined
        1k0t3fvvgks-n-8d2m4x newer   only a newer hostbridge reads it
        1k0t3fvvgkt-h-0r7cza full    would need a slot, and none was free
        1k0t3fvvgku-n-3c8w1z later 90000   not before this uptime, in milliseconds

    A claim looks at everything else before, and then at a few of these in turn, since a
    file may have been changed. With few to pass over there is no file. Nothing depends
    on it: a missing or wrong line only costs time.

    The lock is held when it is read and saved.
    """

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
