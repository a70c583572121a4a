"""The headless agents of this server: each is served in a thread, and ends with it.

So do the flows that it runs; `hostbridge run --resume` goes on with one.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import BoundedSemaphore, Condition
from typing import TypeVar

from bridge.api.project import Project
from bridge.api.wait import Waiter, cancel
from bridge.errors import BridgeError
from bridge.protocol.ids import RequestId
from bridge.protocol.status import ignore
from bridge.worker.worker import Worker

_MANY = 256
# To start an agent takes no longer, unless the store is locked.
_START_S = 5.0
T = TypeVar("T")
Stop = Callable[[], object]
_log = logging.getLogger(__name__)


class Serving:
    """Serves requests, `slots` at a time; the others wait for their turn.

    A run may wait for a person for days: it takes a slot only to have an agent served.
    """

    def __init__(self, slots: int) -> None:
        self.room = BoundedSemaphore(slots)
        self._threads = ThreadPoolExecutor(_MANY, thread_name_prefix="headless")
        # How to cancel what was begun here, and what a caller waits for, by its id.
        self._begun: dict[str, Callable[[], object]] = {}
        self._awaited: dict[str, Callable[[], object]] = {}
        self._starts = Condition()
        self._starting = 0

    def started(
        self, start: Callable[[], T], stop_of: Callable[[T], tuple[str, Stop]]
    ) -> T:
        """Start something in a thread; its caller waits for it from that moment on.

        Whoever ends the server meanwhile waits until it is known what to stop.
        """
        with self._starts:
            self._starting += 1
        try:
            found = start()
            awaited, stop = stop_of(found)
            self._awaited[awaited] = stop
        finally:
            with self._starts:
                self._starting -= 1
                self._starts.notify_all()
        return found

    def begin(
        self, project: Project, worker: Worker, request_id: RequestId, timeout_s: float
    ) -> None:
        """Serve a request, now or when there is room, until its deadline."""
        until_s = project.store.clock.monotonic_s() + timeout_s
        self._begun[request_id] = partial(cancel, project.quick, request_id)
        self._threads.submit(self._serve, project, worker, request_id, until_s)

    def follow(
        self, run_id: str, follow: Callable[[], object], stop: Callable[[], object]
    ) -> None:
        """Serve what a run asks, until it has ended."""
        self._begun[run_id] = stop
        self._threads.submit(self._follow, run_id, follow)

    def _follow(self, run_id: str, follow: Callable[[], object]) -> None:
        try:
            follow()
        except Exception:  # noqa: BLE001 - a thread's: nobody else would hear of it
            _log.exception("run %s", run_id)
        finally:
            self._begun.pop(run_id, None)

    @contextmanager
    def waiting(self, awaited: str, stop: Callable[[], object]) -> Iterator[None]:
        """While its caller waits for it: nobody else wants the answer."""
        self._awaited[awaited] = stop
        try:
            yield
        except asyncio.CancelledError:
            stop()
            raise
        finally:
            del self._awaited[awaited]

    def end(self) -> None:
        """Cancel what was begun or is awaited, and wait until nothing runs."""
        with self._starts:
            self._starts.wait_for(lambda: not self._starting, _START_S)
        for each, stop in (self._begun | self._awaited).items():
            try:
                stop()
            except BridgeError as exc:
                _log.warning("%s was not cancelled: %s", each, exc)
        self._threads.shutdown(cancel_futures=True)

    def _serve(
        self, project: Project, worker: Worker, request_id: RequestId, until_s: float
    ) -> None:
        waiter = Waiter(project.quick, on_stage=ignore)
        try:
            with self.room:
                left_s = max(0.0, until_s - project.store.clock.monotonic_s())
                waiter.to_its_end(request_id, left_s, worker)
        except Exception:  # noqa: BLE001 - a thread's: nobody else would hear of it
            _log.exception("request %s", request_id)
        finally:
            self._begun.pop(request_id, None)
