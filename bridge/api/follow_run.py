"""See a run to its end in this process.

An open session needs nobody here: its hooks advance the run as answers arrive. On a
route of our own this process serves what the run asks, several at once.
"""

from __future__ import annotations

import math
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext, suppress
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Any

from bridge.api.flow_result import result_of_run
from bridge.api.hosts import Hosts
from bridge.api.upkeep import Abandoned, Tender
from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.long_steps import LongStep, do_in_background
from bridge.engine.run_ids import is_called
from bridge.engine.view import view
from bridge.errors import InvalidRequest, StateUnavailable
from bridge.protocol.ids import RequestId
from bridge.protocol.status import ignore
from bridge.routes import OWN
from bridge.store.folder_events import FolderEvents
from bridge.store.submit import is_submitted
from bridge.worker.long_work import LongWork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bridge.api.flow_result import FlowResult
    from bridge.config import Settings
    from bridge.engine.view import RunView
    from bridge.protocol.status import Stage
    from bridge.routes import OwnRoute
    from bridge.store.sessions import Session
    from bridge.store.store import Store
    from bridge.worker.worker import Worker

# How often `on_change` is called, if nothing changes.
_TELL_S = 0.5
# How often to look for the turn of a request that may not be served yet.
_LOOK_S = 0.25
_MANY_S = 0.05
# How often to advance it in any case: a deadline may have passed.
_ANYHOW_S = 2.0


class Follower:
    """Follows runs; `quick` does not wait long for the lock.

    A `session` is charged for what is served here, in the `room` that runs share.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        quick: Store,
        *,
        session: Session | None = None,
    ) -> None:
        self.store = store
        self.settings = settings
        self.quick = quick
        self.session = session
        self.room: AbstractContextManager[object] = nullcontext()
        self._seen: RunView | None = None
        self._work: LongWork | None = None
        self._is_unfinished = False
        self._begun: set[LongStep] = set()

    def follow(self, run_id: str, given: Mapping[str, Any]) -> FlowResult:
        """See a run to its end, or until it is paused.

        Raises:
            CannotWaitHere: it goes on, but the only session would wait for itself.
        """
        on_change = given.get("on_change", ignore)
        events = self._events(run_id)
        with events, LongWork(self.store, self.settings, events.wake) as self._work:
            route = self.look(run_id).run["ask"].get("route", "host")
            is_own = route in OWN
            served = _Serving(self, route, events.wake) if is_own else _Served(self)

            def tell(seen: RunView) -> None:
                on_change(seen)
                self._refuse_to_wait_for_itself(run_id, served.ids)

            with served:
                self._watch(run_id, tell, events, served)
        return result_of_run(self.store, self.settings, run_id)

    def watch(
        self, run_id: str, tell: Callable[[RunView], object], until_s: float
    ) -> None:
        """Look after a run until it has ended, `tell` returns true, or the time is up.

        `tell` is called as the run moves on, and now and then; `until_s` is on the
        monotonic clock. Others serve what it asks, and do what takes long.
        """
        with self._events(run_id) as events:
            self._watch(run_id, tell, events, _Served(self), until_s)

    def _events(self, run_id: str) -> FolderEvents:
        state = self.store.place.state
        return FolderEvents([state / "responses", state / "runs" / run_id])

    def _watch(
        self,
        run_id: str,
        tell: Callable[[RunView], object],
        events: FolderEvents,
        served: _Served,
        until_s: float = math.inf,
    ) -> None:
        signs: list[object] = []
        while True:
            seen = self.look(run_id)
            told_s = time.monotonic()
            if tell(seen):
                return
            served.take(seen)
            due_s = told_s + served.look_s
            while True:
                now_s = time.monotonic()
                is_live = seen.run["status"] == "running" or served.is_busy
                if not is_live or now_s >= until_s:
                    return
                # What has changed since before the last look is looked at.
                before, signs = signs, self._signs(seen)
                has_changed = before != signs or now_s >= due_s
                if has_changed or served.has_ended() or self._long_has_ended():
                    break
                served.tend()
                events.wait(min(_TELL_S, due_s - now_s, until_s - now_s))
                if now_s - told_s >= _TELL_S:
                    told_s = now_s
                    if tell(seen):
                        return

    def look(self, run_id: str) -> RunView:
        """Take a run as far as it goes now, and look at it."""
        self._is_unfinished = False
        # Those that it calls are advanced with the first of all runs alone.
        below = self._seen.children.values() if self._seen and is_called(run_id) else ()
        with suppress(StateUnavailable):
            for each in (run_id, *(child.run["run"] for child in below)):
                self._advance(each)
        self._seen = view(self.store, run_id, self._seen)
        return self._seen

    def _advance(self, run_id: str) -> None:
        """Take a run as far as it goes now, and begin what takes long."""
        found: list[LongStep] = []
        advance(self.quick, self.settings, run_id, long=found)
        if self._work is not None:
            self._work.take(each for each in found if each.node)
            self._is_unfinished |= any(not each.node for each in found)
        elif not self._begun.issuperset(found):
            # Whoever only looks leaves it to a process of its own.
            self._begun.update(found)
            do_in_background(self.store.place, run_id)

    def _long_has_ended(self) -> bool:
        """Whether a step that takes long has ended."""
        return self._is_unfinished or (self._work is not None and self._work.wait(0))

    def _signs(self, seen: RunView) -> list[object]:
        """Change when the run, one that it has called, or an answer to them changes."""
        state = self.store.place.state
        paths = [f"{state}/runs/{each['run']}/run.json" for each in seen.runs()]
        paths += [
            f"{state}/responses/{asked}.json" for _, asked in seen.open_requests()
        ]
        signs: list[object] = []
        for path in paths:
            with suppress(FileNotFoundError):
                facts = os.lstat(path)
                signs.append((path, facts.st_ino, facts.st_mtime_ns))
        return signs

    def _refuse_to_wait_for_itself(self, run_id: str, ids: set[RequestId]) -> None:
        """Refuse once what the run waits for is its asker's own session, and only that.

        It may first do what takes long, a program or a change to be read, here.
        """
        if self._work is not None and self._work.is_busy:
            return
        hosts = Hosts(self.store, self.settings)
        way = f"See what came of it with: hostbridge runs show {run_id}"
        for asked in ids:
            if request := self.store.find_unfinished(asked):
                hosts.refuse_to_wait(request, "begun", way, run_id)

    def worker(self, route: OwnRoute, is_left: Event | None = None) -> Worker:
        """Who serves on a route of our own; raises if this machine cannot."""
        from bridge.worker.executors import open_worker

        def report(_stage: Stage) -> None:
            if is_left is not None and is_left.is_set():
                raise Abandoned

        worker = open_worker(self.store, self.settings, route, on_stage=report)
        if self.session is not None:
            # Its budgets count, whatever our environment says.
            worker.session, worker.charged = self.session, None
        return worker


class _Served(AbstractContextManager["_Served"]):
    """Others serve what a run asks: it is looked after, as by any waiter.

    Attributes:
        ids: the open requests that somebody else can answer.
        is_busy: whether anything is being served here.
    """

    is_busy = False

    def __init__(self, follower: Follower) -> None:
        self.ids: set[RequestId] = set()
        self._store = follower.store
        self._tend = Tender(follower.quick, self.ids, on_stage=ignore)

    def __exit__(self, kind: object, *_: object) -> None:
        """Leave what others serve."""

    @property
    def look_s(self) -> float:
        """How often to look at the run, if nothing changes."""
        return _ANYHOW_S

    def take(self, seen: RunView) -> None:
        """Look after what can be answered.

        Whoever advances it writes down what it asks, and submits that after it.
        """
        self.ids.clear()
        if seen.run["status"] == "running":
            with self._store.state() as state:
                asked = (RequestId(each) for _, each in seen.open_requests())
                self.ids.update(each for each in asked if is_submitted(state, each))

    def tend(self) -> None:
        """Look after what others serve."""
        self._tend()

    def has_ended(self) -> bool:
        """Whether anything has been served here."""
        return False


class _Serving(_Served):
    """Serves in this process what a run asks, several at once."""

    def __init__(
        self, follower: Follower, route: OwnRoute, on_end: Callable[[], None]
    ) -> None:
        super().__init__(follower)
        self._room = follower.room
        self._on_end = on_end
        # A local model fills the machine by itself.
        self._most = 1 if route == "local" else follower.settings.slots
        self._free: SimpleQueue[Worker] = SimpleQueue()
        self._is_left = Event()
        for _ in range(self._most):
            self._free.put(follower.worker(route, self._is_left))
        self._begun: dict[str, Future[bool]] = {}
        self._is_idle = False
        self._pool = ThreadPoolExecutor(self._most, thread_name_prefix="hostbridge")

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._is_left.set()
        self._pool.shutdown(wait=kind is None, cancel_futures=True)

    @property
    def is_busy(self) -> bool:  # type: ignore[override]  # nobody sets it
        """Whether anything is being served."""
        return bool(self._begun)

    @property
    def look_s(self) -> float:
        """How often to look: a request that waits may soon have its turn."""
        return _LOOK_S if self._is_idle else _ANYHOW_S

    def take(self, seen: RunView) -> None:
        """Begin to serve what a run asks, and nobody serves yet."""
        is_running = seen.run["status"] == "running"
        asked = [each for _, each in seen.open_requests() if is_running]
        for each in asked:
            if each not in self._begun and not self._is_paused(each):
                self._begun[each] = self._pool.submit(self._serve, each)
                self._begun[each].add_done_callback(lambda _: self._on_end())
        self._is_idle = bool(asked) and not self._begun

    def tend(self) -> None:
        """Let what a dead process held wait again."""
        if self._is_idle:
            self._store.sweep()

    def has_ended(self) -> bool:
        """Whether anything has been served."""
        if len(self._begun) > self._most and any(self._done()):
            # There is enough to do for now: several are heard of at once.
            wait([*self._begun.values()], _MANY_S)
        done = [*self._done()]
        for asked in done:
            if not self._begun.pop(asked).result():
                # Somebody else serves it, unless that one has died.
                time.sleep(_LOOK_S)
                self._store.sweep()
        return bool(done)

    def _done(self) -> Iterator[str]:
        return (asked for asked, each in self._begun.items() if each.done())

    def _is_paused(self, asked: str) -> bool:
        """Whether the next try of a request may not begin yet."""
        request = self._store.find_unfinished(RequestId(asked))
        return request is not None and request.is_paused(self._store.now_ms())

    def _serve(self, asked: str) -> bool:
        worker = self._free.get()
        try:
            with self._room:
                return worker.serve(RequestId(asked))
        except Abandoned:
            # Whoever goes on with the run has it served.
            worker.give_back(RequestId(asked))
            return False
        finally:
            self._free.put(worker)


def pause(store: Store, settings: Settings, run_id: str) -> bool:
    """Pause a run whose follower leaves; False if it has ended, or cannot be."""
    with suppress(InvalidRequest, StateUnavailable):
        advance(store, settings, run_id, by_hand.pause)
        return True
    return False
