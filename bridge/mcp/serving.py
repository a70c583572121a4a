"""The headless agents of this server: each is served in a thread, and ends with it."""

import asyncio
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from bridge.api.project import Project
from bridge.api.wait import Waiter, cancel
from bridge.errors import BridgeError, WaitTimeout
from bridge.protocol.ids import RequestId
from bridge.protocol.status import Stage, ignore
from bridge.worker.worker import Worker

_log = logging.getLogger(__name__)


class Serving:
    """Serves requests, `slots` at a time; the others wait for their turn."""

    def __init__(self, slots: int) -> None:
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="headless")
        self._begun: dict[RequestId, Project] = {}
        self._awaited: dict[RequestId, Project] = {}

    def begin(
        self, project: Project, worker: Worker, request_id: RequestId, timeout_s: float
    ) -> None:
        """Serve a request, now or when there is room, until its deadline."""
        until_s = project.store.clock.monotonic_s() + timeout_s
        self._begun[request_id] = project
        self._threads.submit(self._serve, project, worker, request_id, until_s)

    @contextmanager
    def waiting(self, project: Project, request_id: RequestId) -> Iterator[None]:
        """While its caller waits for a request: nobody else wants the answer."""
        self._awaited[request_id] = project
        try:
            yield
        except asyncio.CancelledError:
            cancel(project.quick, request_id)
            raise
        finally:
            del self._awaited[request_id]

    def end(self) -> None:
        """Cancel what was begun or is awaited, and wait until nothing runs."""
        for request_id, project in (self._begun | self._awaited).items():
            try:
                cancel(project.quick, request_id)
            except BridgeError as exc:
                _log.warning("request %s was not cancelled: %s", request_id, exc)
        self._threads.shutdown(cancel_futures=True)

    def _serve(
        self, project: Project, worker: Worker, request_id: RequestId, until_s: float
    ) -> None:
        waiter = Waiter(project.quick, on_stage=ignore)
        left_s = max(0.0, until_s - project.store.clock.monotonic_s())
        try:
            waiter.one_or_serve(request_id, worker, after_s=0, timeout_s=left_s)
        except WaitTimeout as exc:
            waiter.expire(request_id, Stage(str(exc.stage)))
        except Exception:  # noqa: BLE001 - a thread's: nobody else would hear of it
            _log.exception("request %s", request_id)
        finally:
            self._begun.pop(request_id, None)
