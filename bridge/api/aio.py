"""The bridge for asyncio: each call runs in a thread; a cancelled call lets it go.

Each wait has its own thread and leaves asyncio's threads to short calls: otherwise a
few waits would hold up every other call, even `cancel`. `as_completed` needs one
thread, even for a hundred requests.

A cancelled call ends at once for the awaiting task. A thread that waits for an answer
checks every two seconds whether anybody still wants it, whoever holds the store's lock,
and ends within three; to submit, it waits for the lock like any program. A cancelled
`ask` then cancels its request, as an interrupt does for the blocking one. A cancelled
`wait` leaves its requests as they are.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Unpack

from bridge.api.bridge import DEFAULT_TIMEOUT_S, Bridge
from bridge.api.options import ignore
from bridge.api.upkeep import Abandoned
from bridge.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
    from pathlib import Path
    from typing import TypeVar

    from bridge.api.history import Story
    from bridge.api.options import AskOptions, SubmitOptions
    from bridge.api.project_status import Overview
    from bridge.api.result import Result, Shape
    from bridge.protocol.ids import RequestId
    from bridge.protocol.status import Stage
    from bridge.store import Found

    T = TypeVar("T")


class AsyncBridge:
    """`Bridge` for asyncio: the same methods with the same arguments, awaited.

    The exceptions: `wait` takes one request, `as_completed` is for many; serving a
    route (`Bridge.server`) belongs to a blocking program. `on_stage` and `on_progress`
    are called in a thread. A cancelled wait lets go of its thread within three seconds.
    The blocking bridge is `bridge`.
    """

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge

    @classmethod
    def open(cls, path: Path | str | None = None) -> AsyncBridge:
        """The bridge of the project that `path` (default: the working folder) is in."""
        return cls(Bridge.open(path))

    async def ask(
        self,
        prompt: str,
        agent: str = "general-purpose",
        **options: Unpack[AskOptions],
    ) -> Result:
        """Ask and await the answer; see `Bridge.ask`."""
        on_stage = options.get("on_stage", ignore)

        def call(leave: threading.Event) -> Result:
            options["on_stage"] = _leaving(leave, on_stage)
            return self.bridge.ask(prompt, agent, **options)

        return await _waited(call)

    async def submit(
        self,
        prompt: str,
        agent: str = "general-purpose",
        **options: Unpack[SubmitOptions],
    ) -> RequestId:
        """Ask without waiting; see `Bridge.submit`."""
        return await asyncio.to_thread(self.bridge.submit, prompt, agent, **options)

    async def wait(
        self,
        request: str,
        *,
        schema: Shape = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        on_stage: Callable[[Stage], None] = ignore,
    ) -> Result:
        """Await one request; see `Bridge.wait`. For many there is `as_completed`.

        Raises:
            TypeError: it is not an id.
        """
        if not isinstance(request, str):
            kind = type(request).__name__
            raise TypeError(
                f"wait awaits one request, by its id, not a {kind}; for many: "
                "async for result in bridge.as_completed(requests)"
            )
        return await _waited(
            lambda leave: self.bridge.wait(
                request,
                schema=schema,
                timeout_s=timeout_s,
                on_stage=_leaving(leave, on_stage),
            )
        )

    async def as_completed(
        self,
        requests: Iterable[str],
        *,
        schema: Shape = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        on_stage: Callable[[Stage], None] = ignore,
    ) -> AsyncIterator[Result]:
        """Yield a result for each request as it ends; see `Bridge.wait`."""
        if isinstance(requests, str):
            raise InvalidRequest(
                "as_completed is for many ids; for one there is `wait`"
            )
        done = object()
        leave = threading.Event()
        wanted = list(requests)
        try:
            with _own_thread() as in_thread:
                # In the thread, since it reads a file for each request.
                results = await in_thread(
                    lambda: self.bridge.wait(
                        wanted,
                        schema=schema,
                        timeout_s=timeout_s,
                        on_stage=_leaving(leave, on_stage),
                    )
                )
                while True:
                    result = await in_thread(lambda: next(results, done))
                    if result is done:
                        return
                    yield result  # type: ignore[misc]  # the sentinel is gone
        finally:
            leave.set()

    async def cancel(self, request: str) -> bool:
        """Cancel a request; see `Bridge.cancel`."""
        return await asyncio.to_thread(self.bridge.cancel, request)

    async def respond(self, request: str, words: str) -> Result:
        """Answer by hand; see `Bridge.respond`."""
        return await asyncio.to_thread(self.bridge.respond, request, words)

    async def status(self, request: str) -> Found:
        """One request as it stands; see `Bridge.status`."""
        return await asyncio.to_thread(self.bridge.status, request)

    async def overview(self) -> Overview:
        """Open sessions and requests; see `Bridge.overview`."""
        return await asyncio.to_thread(self.bridge.overview)

    async def story(self, request: str) -> Story:
        """Everything known about one request; see `Bridge.story`."""
        return await asyncio.to_thread(self.bridge.story, request)


async def _waited(call: Callable[[threading.Event], T]) -> T:
    """Run a blocking call that checks the event now and then."""
    leave = threading.Event()
    try:
        with _own_thread() as in_thread:
            return await in_thread(lambda: call(leave))
    except asyncio.CancelledError:
        leave.set()
        raise


@contextmanager
def _own_thread() -> Iterator[Callable[[Callable[[], T]], Awaitable[T]]]:
    """A thread for blocking calls, one at a time; nobody waits for its end.

    Except the interpreter: a cancelled call has a moment to let go.
    """
    thread = ThreadPoolExecutor(1, thread_name_prefix="hostbridge")
    loop = asyncio.get_running_loop()
    try:
        yield lambda call: loop.run_in_executor(thread, copy_context().run, call)
    finally:
        thread.shutdown(wait=False)


def _leaving(
    leave: threading.Event, on_stage: Callable[[Stage], None]
) -> Callable[[Stage], None]:
    """Report a stage, unless the awaiting task was cancelled."""

    def report(stage: Stage) -> None:
        if leave.is_set():
            raise Abandoned("the awaiting task was cancelled")
        on_stage(stage)

    return report
