"""Claim waiting requests for one claimant: take them, leave them, or end them.

A hook's time is limited, and the lock must be held for only tens of milliseconds: a
walk along the queue covers a few hundred requests, releases the lock, and goes on. What
it passed over is remembered (see `passed_over`), so that the next claim begins where
this one was.
"""

from collections.abc import Callable, Iterable
from math import inf

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
        the reasons in `passed_over`. With `stop` no more can be taken.
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
