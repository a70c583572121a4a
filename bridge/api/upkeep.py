"""What a waiter does now and then: it looks after the requests it waits for.

Nobody else may be there to do it: a waiter takes back what dead hosts held, ends
overdue requests, wakes sessions again if nobody took a request, and reports how far a
request is.
"""

import threading
from collections.abc import Callable, Hashable
from contextlib import suppress
from math import inf

from bridge.api.hosts import eligible_hosts, held_back_of
from bridge.errors import StateUnavailable, StateVanished
from bridge.host.wake_problems import complaint, may_hear
from bridge.protocol.claim import Claim
from bridge.protocol.ids import RequestId
from bridge.protocol.outcome import Progress
from bridge.protocol.question import asks_words
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.protocol.status import Stage, Status, ignore
from bridge.store import Found, wakeups
from bridge.store.claim import expired
from bridge.store.sessions import last_beat_s, live_sessions
from bridge.store.store import Store
from bridge.store.wakeups import sweep

TEND_S = 2.0
WAKE_S = 5.0
# Agents work without a word for as long; then a look costs less than a lost answer.
SILENT_S = 30.0
# Of many awaited requests, this many are checked each time.
_LOOKED_AT = 8
# How many turns are remembered; a forgotten one is taken once more.
_REMEMBERED = 1000
# For all waiters of a process: a thousand of them would overload the machine.
_LOOKS_A_SECOND = 50


class Abandoned(BaseException):
    """Nobody waits for the answer any more: every step ends at once."""


class _Turns:
    """Limits on what all waiters of this process do together."""

    def __init__(self) -> None:
        # A signal handler may wait, too.
        self._lock = threading.RLock()
        self._done: dict[Hashable, float] = {}
        self._since_s = -inf
        self._spent = 0

    def take(self, what: Hashable, now_s: float) -> bool:
        """Whether it is the caller's turn: at least `TEND_S` after the last."""
        with self._lock:
            if 0 <= now_s - self._done.get(what, -inf) < TEND_S:
                return False
            if len(self._done) >= _REMEMBERED:
                self._done.clear()
            self._done[what] = now_s
            return True

    def spend(self, now_s: float) -> bool:
        """Whether one more waiter may look after its request within this second."""
        with self._lock:
            if not 0 <= now_s - self._since_s < 1:
                self._since_s, self._spent = now_s, 0
            self._spent += 1
            return self._spent <= _LOOKS_A_SECOND


_turns = _Turns()


def stage_of(store: Store, found: Found | None) -> Stage:
    """The stage of a request, as a waiter reports it."""
    request = found.request if found else None
    if found is None or request is None:
        return Stage.WAITING
    if request.asks is not None:
        return Stage.ASKING
    if request.is_paused(store.now_ms()):
        return Stage.PAUSED
    waits_for_host = found.status is Status.PENDING and request.route == "host"
    if waits_for_host and not eligible_hosts(store, request):
        return Stage.NO_HOST
    return request.stage


def complaint_of(
    store: Store, request: Request | None, stage: Stage, *, is_early: bool = False
) -> str:
    """Why a request waits: a limit, or no session has heard of it; empty if unknown.

    What passes in a few seconds is not said early.
    """
    if request is not None and stage is Stage.PAUSED:
        # Late, as few requests are paused.
        from bridge.protocol.retries import late_words

        return late_words(request, store.now_ms())
    if request is not None and request.asks is not None:
        return asks_words(request.asks)
    if request is None or request.route != "host" or stage is not Stage.WAITING:
        return ""
    able = eligible_hosts(store, request)
    limit = held_back_of(store, request, able)
    if limit is not None:
        return f"{limit.why}; more now: {limit.cure}"
    return "" if is_early and may_hear(store, able) else complaint(store, able)


def late_response(store: Store, request: Request, stage: Stage) -> Response:
    """The response of a request whose time is up."""
    why = complaint_of(store, request, stage)
    return expired(request, store.now_ms(), stage, why)


class Tender:
    """Looks after requests while their waiter waits; called every second or so.

    Args:
        store: one that does not wait long for its lock.
        ids: the awaited requests; the caller removes those that have ended.
        on_stage: called with the stage of each checked request, whoever holds the lock;
            what it raises ends the wait.
        on_progress: is told what a request waits for: its next try, a limit, or a
            session that nothing wakes.
    """

    def __init__(
        self,
        store: Store,
        ids: set[RequestId],
        *,
        on_stage: Callable[[Stage], None],
        on_progress: Callable[[Progress], None] = ignore,
    ) -> None:
        self._store = store
        self._ids = ids
        self._on_stage = on_stage
        self._on_progress = on_progress
        self._paused: set[str] = set()
        self._stage = Stage.WAITING
        self._why = ""
        self._lost: list[RequestId] = []
        self._tended = self._woken = store.clock.monotonic_s()

    def begin(self) -> None:
        """Tell what is known now of why these requests wait."""
        if self._on_progress is not ignore:
            with suppress(StateUnavailable):
                for found in self._live(sorted(self._ids)[:_LOOKED_AT]):
                    self._tell_why(found.request, stage_of(self._store, found))

    def __call__(self) -> None:
        """Do what is due.

        Raises:
            StateVanished: a request is gone; only its state directory is seen by `wait`
                itself, and only if the new one is not taken for the old.
        """
        now = self._store.clock.monotonic_s()
        if now - self._tended < TEND_S:
            return
        self._tended = now
        if not _turns.spend(now):
            # The callback may find its caller gone; the rest can wait for a turn.
            self._on_stage(self._stage)
            return
        wake = now - self._woken >= WAKE_S
        if wake:
            self._woken = now
        ids = sorted(self._ids)[:_LOOKED_AT]
        # First, because the callback may find its caller gone, and must not wait for
        # the lock.
        live: list[Found] = []
        with suppress(StateUnavailable):
            live = self._live(ids)
            for found in live:
                self._stage = stage_of(self._store, found)
                self._on_stage(self._stage)
                self._tell_why(found.request, self._stage)
        self._check_there()
        with suppress(StateUnavailable):
            if self._is_turn(now, "sweep"):
                sweep(self._store)
                live = self._live(ids)
            for found in live:
                self._look_after(found, wake=wake)

    def _tell_why(self, request: Request | None, stage: Stage) -> None:
        if request is None or self._on_progress is ignore:
            return
        if stage is Stage.PAUSED:
            from bridge.protocol.retries import pause_words

            why = pause_words(request, self._store.now_ms())
        elif stage is Stage.WAITING:
            # In the first words, which may say for how long: told once, not each time.
            why = complaint_of(self._store, request, stage, is_early=True)
            why = self._why = why and (self._why or why)
        else:
            return
        if why:
            self._on_progress(Progress(waits=why))

    def _live(self, ids: list[RequestId]) -> list[Found]:
        """Those of the requests that have not ended."""
        found = {each: self._store.find(each) for each in ids}
        self._lost = [each for each, it in found.items() if it is None]
        return [it for it in found.values() if it and it.response is None]

    def _check_there(self) -> None:
        """See that what was not found is there, as a file that cannot be read."""
        gone = None
        with suppress(StateUnavailable):
            unreadable = self._store.why_unreadable
            gone = next((each for each in self._lost if not unreadable(each)), None)
        if gone is not None:
            raise StateVanished(
                f"request {gone} has vanished: {self._store.place.state} was removed "
                "or replaced while waiting"
            )

    def _is_turn(self, now_s: float, *what: object) -> bool:
        return _turns.take((self._store.place.state, *what), now_s)

    def _look_after(self, found: Found, *, wake: bool) -> None:
        request = found.request
        if request is None:
            return
        if self._store.now_ms() >= request.deadline_ms:
            late = late_response(self._store, request, stage_of(self._store, found))
            self._store.publish(late, source="waiter")
        elif request.asks is not None:
            # By the file, since no call of ours has taken it over.
            replied = self._store.take_reply(request.request_id)
            if replied is not None and replied.asks is None:
                self._wake(replied)
        elif request.is_paused(self._store.now_ms()):
            self._paused.add(request.request_id)
        elif request.request_id in self._paused:
            # Its time has come: whoever may take it may be idle.
            self._paused.discard(request.request_id)
            self._wake(request)
        elif wake and request.stage in (Stage.WAITING, Stage.OFFERED):
            self._wake(request)
        elif request.stage is Stage.WAITING:
            self._wake(request, again=True)
        elif wake and request.claim is not None:
            self._have_heard(request.claim)

    def _have_heard(self, claim: Claim) -> None:
        """Signal the session of an agent, if no hook of it has run for long.

        Those that tell of the agent's end may have been missed. The one that hears the
        signal looks for that, and costs the session no request to its model.
        """
        if not self._is_turn(self._tended, "heard", claim.session):
            return
        store = self._store
        # After `/clear` its process goes on with another session.
        mine = live_sessions(store, which=lambda each: each.host == claim.host)
        last_s = max((last_beat_s(store, each.session_id) for each in mine), default=0)
        if abs(store.now_ms() / 1000 - last_s) >= SILENT_S:
            wakeups.wake(store, mine)

    def _wake(self, request: Request, *, again: bool = False) -> None:
        # Who may take it: one wake-up is enough for requests that agree in this.
        whose = ("again" if again else "wake", request.session, request.declined_by)
        if not self._is_turn(self._tended, *whose):
            return
        with suppress(StateUnavailable):
            hosts = eligible_hosts(self._store, request)
            wakeups.wake(self._store, hosts, again=again)
