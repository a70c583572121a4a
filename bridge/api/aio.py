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
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Unpack

from bridge.api.bridge import Bridge
from bridge.api.upkeep import Abandoned
from bridge.errors import InvalidRequest
from bridge.protocol.status import ignore

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Awaitable,
        Callable,
        Coroutine,
        Iterable,
        Iterator,
    )
    from pathlib import Path
    from typing import Any, ParamSpec, TypeVar

    from bridge.api.options import AskOptions, WaitOptions
    from bridge.api.result import Result
    from bridge.protocol.status import Stage

    P = ParamSpec("P")
    T = TypeVar("T")


def _in_thread(
    method: Callable[Concatenate[Bridge, P], T],
) -> Callable[Concatenate[AsyncBridge, P], Coroutine[Any, Any, T]]:
    """The same method, run in one of asyncio's threads."""

    @wraps(method)
    async def call(self: AsyncBridge, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.bridge, *args, **kwargs)

    return call


class AsyncBridge:
    """`Bridge` for asyncio: the same methods with the same arguments, awaited.

    The exceptions: `wait` takes one request, `as_completed` is for many. `on_stage` and
    `on_progress` are called in a thread. The blocking bridge is `bridge`.
    """

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge

    @classmethod
    def open(cls, path: Path | str | None = None) -> AsyncBridge:
        """The bridge of the project that `path` (default: the working folder) is in."""
        return cls(Bridge.open(path))

    submit = _in_thread(Bridge.submit)
    cancel = _in_thread(Bridge.cancel)
    respond = _in_thread(Bridge.respond)
    status = _in_thread(Bridge.status)
    overview = _in_thread(Bridge.overview)
    story = _in_thread(Bridge.story)
    prune = _in_thread(Bridge.prune)

    async def ask(
        self,
        prompt: str,
        agent: str = "general-purpose",
        **options: Unpack[AskOptions],
    ) -> Result:
        """Ask and await the answer; see `Bridge.ask`."""
        with _own_thread(options) as in_thread:
            return await in_thread(lambda: self.bridge.ask(prompt, agent, **options))

    async def wait(self, request: str, **options: Unpack[WaitOptions]) -> Result:
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
        with _own_thread(options) as in_thread:
            return await in_thread(lambda: self.bridge.wait(request, **options))

    async def as_completed(
        self, requests: Iterable[str], **options: Unpack[WaitOptions]
    ) -> AsyncIterator[Result]:
        """Yield a result for each request as it ends; see `Bridge.wait`."""
        if isinstance(requests, str):
            raise InvalidRequest(
                "as_completed is for many ids; for one there is `wait`"
            )
        wanted = list(requests)
        with _own_thread(options) as in_thread:
            # In the thread, since it reads a file for each request.
            results = await in_thread(lambda: self.bridge.wait(wanted, **options))
            while result := await in_thread(lambda: next(results, None)):
                yield result


@contextmanager
def _own_thread(
    options: AskOptions | WaitOptions,
) -> Iterator[Callable[[Callable[[], T]], Awaitable[T]]]:
    """A thread for blocking calls, one at a time; nobody waits for its end.

    Except the interpreter: a call that was left has a moment to notice that, at the
    next stage that it reports. `options` are those of the calls.
    """
    is_left = threading.Event()
    on_stage = options.get("on_stage", ignore)

    def report(stage: Stage) -> None:
        if is_left.is_set():
            raise Abandoned("the awaiting task was cancelled")
        on_stage(stage)

    options["on_stage"] = report
    thread = ThreadPoolExecutor(1, thread_name_prefix="hostbridge")
    loop = asyncio.get_running_loop()
    try:
        yield lambda call: loop.run_in_executor(thread, copy_context().run, call)
    finally:
        is_left.set()
        thread.shutdown(wait=False)
