"""Walk along the queue for one claimant: take requests, leave them, or end them.

A hook's time is limited, and the lock must be held for only tens of milliseconds: a
walk covers a few hundred requests, releases the lock, and goes on. What it passed over
is remembered (see `passed_over`), so that the next claim begins where this one was.
"""

from collections.abc import Callable, Iterable
from typing import Literal

from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.store import Claimant, Verdict
from bridge.store.claim import is_over, take
from bridge.store.dedup_keys import claim_key
from bridge.store.lifecycle import expired
from bridge.store.lock import LockBusy
from bridge.store.passed_over import Passed
from bridge.store.queries import all_claimed
from bridge.store.questions import take_reply
from bridge.store.responses import end
from bridge.store.state import State
from bridge.store.waiting_order import MAX_ASKED, Ranks, waiting_in_order

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

_Fate = Literal["taken", "ended", "left", "passed", "gone", "young", "stop"]
_MOVED = frozenset({"taken", "ended", "gone"})


def claim(
    state: State,
    claimant: Claimant,
    slots: int,
    judge: Callable[[Request], Verdict],
    *,
    on_cut: Callable[[], None],
) -> list[Request]:
    """Take what `judge` says to take, into the claimant's slots; takes the lock itself.

    `on_cut` is called if the time is up before the end of the queue: the next claim
    goes on from there.

    Raises:
        LockBusy: nothing was checked.
    """
    clock = state.clock
    until_s = clock.monotonic_s() + _MAX_S
    walk: _Walk | None = None
    while True:
        try:
            with state.hold_in_turns():
                walk = walk or _Walk(state, claimant, slots, judge)
                if walk.go_on():
                    return walk.taken
        except LockBusy:
            if walk is None:
                raise
            break
        if clock.monotonic_s() >= until_s:
            break
    on_cut()
    return walk.taken


def claim_only(
    state: State,
    request_id: RequestId,
    claimant: Claimant,
    slots: int,
    judge: Callable[[Request], Verdict],
) -> list[Request]:
    """As `claim`, for this one request."""
    with state.hold():
        walk = _Walk(state, claimant, slots, judge)
        walk.count_held()
        walk.look_at(request_id)
    return walk.taken


class _Walk:
    """What one claim has found so far. The lock is held."""

    def __init__(
        self,
        state: State,
        claimant: Claimant,
        slots: int,
        judge: Callable[[Request], Verdict],
    ) -> None:
        self.taken: list[Request] = []
        self._state = state
        self._claimant = claimant
        self._slots = slots
        self._judge = judge
        self._passed = Passed(state, claimant.session)
        self._held = 0
        self._left = self._beyond = 0

    def go_on(self) -> bool:
        """Check the next few hundred; True if that is all for this claim."""
        state, passed = self._state, self._passed
        self.count_held()
        state.unread.clear()
        before = len(passed)
        ranks = Ranks(state, most=MAX_ASKED, is_known=self._is_passed)
        is_done, moved = self._follow(waiting_in_order(state, ranks))
        for name, why in state.unread.items():
            if why == "newer":
                passed.add(name, "newer")
        if is_done is None:
            # The end of what was listed. Beyond it there are foreign names only, and
            # they come into sight as those before them go, or are passed over.
            moved += ranks.gone + len(passed) - before
            is_done = not (ranks.is_cut and moved)
            if is_done:
                self._look_again()
        return not passed.save() or is_done

    def count_held(self) -> None:
        """Count the claimant's requests, after anybody else may have had the lock."""
        self._held = sum(
            r.claim is not None and r.claim.host == self._claimant.host
            for r in all_claimed(self._state)
        )

    def _follow(self, ids: Iterable[RequestId]) -> tuple[bool | None, int]:
        """Walk along; whether that is all, None at the end, and how many went away."""
        looked = ended = moved = 0
        for request_id in ids:
            if self._is_passed(request_id):
                continue
            fate = self.look_at(request_id)
            looked += 1
            ended += fate == "ended"
            moved += fate in _MOVED
            if fate == "stop" or self._left >= _MAX_LEFT or self._beyond >= _MAX_BEYOND:
                return True, moved
            if looked >= _MAX_LOOKED or ended >= _MAX_ENDED:
                return False, moved
        return None, moved

    def _is_passed(self, name: str) -> bool:
        return self._passed.find(name, is_full=self._is_full()) is not None

    def _look_again(self) -> None:
        for name in self._passed.longest_ago():
            if self._is_full() or self.look_at(RequestId(name)) == "stop":
                return

    def look_at(self, request_id: RequestId) -> _Fate:
        """Take one request, leave it, or end it."""
        state, passed = self._state, self._passed
        request = None
        if not is_over(state, request_id):
            request = state.waiting(request_id)
        if request is None:
            if state.unread.get(request_id) == "newer":
                passed.add(request_id, "newer")
                return "passed"
            passed.drop(request_id)
            return "young" if request_id in state.unread else "gone"
        now_ms = state.now_ms()
        request = take_reply(state, request)
        if request.is_paused(now_ms) and now_ms < request.deadline_ms:
            if request.asks is not None:
                # Not to be remembered: its reply may come at any time.
                passed.drop(request_id)
                return "left"
            passed.add_until(request_id, (request.due_ms or now_ms) - now_ms)
            return "passed"
        has_slot = self._held < self._slots * (1 + request.depth)
        verdict = self._judged(request, has_slot=has_slot)
        if verdict == "pass":
            passed.add(request_id, "other")
            return "passed"
        is_urgent = request.priority == "high"
        if verdict == "leave" and not has_slot and is_urgent and request.depth == 0:
            passed.add(request_id, "full")
            return "passed"
        passed.drop(request_id)
        if verdict == "leave":
            self._left += 1
            self._beyond += not has_slot and not is_urgent
            return "left"
        if isinstance(verdict, Response):
            end(state, request, verdict, source="claim")
            return "ended"
        return self._try_to_take(request)

    def _judged(self, request: Request, *, has_slot: bool) -> Verdict:
        now_ms = self._state.now_ms()
        if now_ms >= request.deadline_ms:
            return expired(request, now_ms)
        verdict = self._judge(request) if has_slot else "leave"
        refused = claim_key(self._state, request) if verdict == "take" else None
        return refused or verdict

    def _try_to_take(self, request: Request) -> _Fate:
        try:
            mine = take(self._state, request, self._claimant)
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

    def _is_full(self) -> bool:
        """Whether no request of a program would find a slot."""
        return self._held >= self._slots
