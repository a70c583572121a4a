"""See a run to its end in this process.

An open session needs nobody here: its hooks advance the run as answers arrive. On a
route of our own this process serves what the run asks, several at once.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext, suppress
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Any

from bridge.api.flow_result import result_of_run
from bridge.api.hosts import Hosts
from bridge.api.upkeep import Abandoned, Tender
from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.long_steps import LongStep, do_in_background
from bridge.engine.view import view
from bridge.errors import InvalidRequest, StateUnavailable
from bridge.protocol.ids import RequestId
from bridge.protocol.status import ignore
from bridge.routes import OWN
from bridge.store.submit import is_submitted
from bridge.worker.long_work import LongWork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from bridge.api.flow_result import FlowResult
    from bridge.config import Settings
    from bridge.engine.view import RunView
    from bridge.protocol.status import Stage
    from bridge.routes import OwnRoute
    from bridge.store.sessions import Session
    from bridge.store.store import Store
    from bridge.worker.worker import Worker

# How often to look whether somebody else has advanced it.
_LOOK_S = 0.25
_MANY_S = 0.05
# How often to advance it in any case: a deadline may have passed.
_ANYHOW_S = 2.0


class _Changed(Exception):
    """The run has been advanced by somebody else."""


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
        with LongWork(self.store, self.settings) as self._work:
            route = self.look(run_id).run["ask"].get("route", "host")
            if route in OWN:
                self._serve(run_id, route, on_change)
            else:
                self._watch(run_id, on_change)
        return result_of_run(self.store, self.settings, run_id)

    def look(self, run_id: str) -> RunView:
        """Take a run as far as it goes now, and look at it."""
        with suppress(StateUnavailable):
            self._advance(run_id)
        self._seen = view(self.store, run_id, self._seen)
        return self._seen

    def submitted(self, seen: RunView) -> set[RequestId]:
        """The open requests of a run that somebody can answer.

        Whoever advances it writes down what it asks, and submits that after it.
        """
        with self.store.state() as state:
            asked = (RequestId(each) for _, each in seen.open_requests())
            return {each for each in asked if is_submitted(state, each)}

    def _advance(self, run_id: str) -> None:
        """Take a run as far as it goes now, and begin what takes long."""
        found: list[LongStep] = []
        advance(self.quick, self.settings, run_id, long=found)
        if self._work is not None:
            self._work.take(each for each in found if each.node)
        elif not self._begun.issuperset(found):
            # Whoever only looks leaves it to a process of its own.
            self._begun.update(found)
            do_in_background(self.store.place, run_id)
        self._is_unfinished = any(not each.node for each in found)

    def _long_has_ended(self, wait_s: float) -> bool:
        """Wait until a step that takes long has ended; False if none has by then."""
        if self._is_unfinished:
            return True
        if self._work is not None and self._work.is_busy:
            return self._work.wait(wait_s)
        time.sleep(wait_s)
        return False

    # In an open session

    def _watch(self, run_id: str, on_change: Callable[[RunView], None]) -> None:
        ids: set[RequestId] = set()
        tend = Tender(self.quick, ids, on_stage=ignore)
        while True:
            seen = self.look(run_id)
            on_change(seen)
            if seen.run["status"] != "running":
                return
            ids.clear()
            ids.update(self.submitted(seen))
            self._refuse_to_wait_for_itself(run_id, ids)
            with suppress(_Changed):
                self._wait(seen, ids, tend, on_change)

    def _wait(
        self,
        seen: RunView,
        ids: set[RequestId],
        tend: Callable[[], None],
        on_change: Callable[[RunView], None],
    ) -> None:
        """Wait until something has been answered, or somebody else has been here."""
        before, began_s = self._sign(seen), time.monotonic()

        def look() -> None:
            on_change(seen)
            is_due = time.monotonic() - began_s > _ANYHOW_S
            is_due |= self._long_has_ended(0)
            if self._sign(seen) != before or is_due:
                tend()
                raise _Changed

        while not ids:
            if self._long_has_ended(_LOOK_S):
                raise _Changed
            look()
        for response in self.store.wait(ids, timeout_s=_ANYHOW_S, tend=look):
            known = response.request_id.partition("-")[0]
            with suppress(StateUnavailable):
                self._advance(known)
            return
        # What is overdue is ended here, too: nobody else may be there to do it.
        look()

    def _sign(self, seen: RunView) -> list[tuple[int, int]]:
        """Changes when the run or one that it has called changes."""
        state = self.store.place.state
        views = [seen]
        for each in views:
            views += each.children.values()
        signs = []
        for each in views:
            with suppress(FileNotFoundError):
                facts = os.lstat(state / "runs" / each.run["run"] / "run.json")
                signs.append((facts.st_ino, facts.st_mtime_ns))
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

    # In this process

    def _serve(
        self, run_id: str, route: OwnRoute, on_change: Callable[[RunView], None]
    ) -> None:
        # A local model fills the machine by itself.
        count = 1 if route == "local" else self.settings.slots
        free: SimpleQueue[Worker] = SimpleQueue()
        is_left = Event()
        for _ in range(count):
            free.put(self.worker(route, is_left))
        serving: dict[str, Future[bool]] = {}
        with ThreadPoolExecutor(count, thread_name_prefix="hostbridge") as pool:
            try:
                while True:
                    seen = self.look(run_id)
                    on_change(seen)
                    if seen.run["status"] != "running" and not serving:
                        return
                    for asked in self._waiting(seen, serving):
                        serving[asked] = pool.submit(self._serve_one, free, asked)
                    self._settle(serving, seen)
            except BaseException:
                is_left.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _waiting(
        self, seen: RunView, serving: Mapping[str, Future[bool]]
    ) -> Iterator[str]:
        if seen.run["status"] == "running":
            yield from (
                asked
                for _, asked in seen.open_requests()
                if asked not in serving and not self._is_paused(asked)
            )

    def _is_paused(self, asked: str) -> bool:
        """Whether the next try of a request may not begin yet."""
        request = self.store.find_unfinished(RequestId(asked))
        return request is not None and request.is_paused(self.store.now_ms())

    def _settle(self, serving: dict[str, Future[bool]], seen: RunView) -> None:
        """Wait until something has been served, and have its run advanced."""
        if not serving:
            if not self._long_has_ended(_LOOK_S):
                self.store.sweep()
            return
        if self._long_has_ended(0):
            return
        if len(serving) > self.settings.slots:
            # There is enough to do for now: several are heard of at once.
            wait([*serving.values()], _MANY_S)
        done, _ = wait([*serving.values()], _LOOK_S, FIRST_COMPLETED)
        for asked in [asked for asked, each in serving.items() if each in done]:
            if not serving.pop(asked).result():
                # Somebody else serves it, unless that one has died.
                time.sleep(_LOOK_S)
                self.store.sweep()
            known = asked.partition("-")[0]
            if known != seen.run["run"]:
                self._advance(known)

    def _serve_one(self, free: SimpleQueue[Worker], asked: str) -> bool:
        worker = free.get()
        try:
            with self.room:
                return worker.serve(RequestId(asked))
        except Abandoned:
            # Whoever goes on with the run has it served.
            worker.give_back(RequestId(asked))
            return False
        finally:
            free.put(worker)

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


def pause(store: Store, settings: Settings, run_id: str) -> bool:
    """Pause a run whose follower leaves; False if it has ended, or cannot be."""
    with suppress(InvalidRequest, StateUnavailable):
        advance(store, settings, run_id, by_hand.pause)
        return True
    return False
