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
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
)
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, Unpack, overload

from bridge.api.bridge import Bridge
from bridge.api.upkeep import Abandoned
from bridge.errors import InvalidRequest
from bridge.protocol.status import ignore
from bridge.protocol.type_checks import check
from bridge.protocol.wording import quoted
from bridge.tasks.tasks import Tasks

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from bridge.api.bridge import Json
    from bridge.api.options import WaitOptions
    from bridge.api.result import Result

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

_RUNS = frozenset(
    each.__name__
    for each in (
        *(Bridge.run, Bridge.resume),
        *(Bridge.validate, Bridge.build_and_validate),
    )
)


def _in_thread(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[_Awaited, P], Coroutine[Any, Any, T]]:
    """The same method, run in one of asyncio's threads."""

    @wraps(method)
    async def call(self: _Awaited, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self._blocking, *args, **kwargs)

    return call


class _Awaited:
    """What has the methods of a blocking object, awaited."""

    _blocking: Any


@contextmanager
def own_thread(
    options: Mapping[str, Any], callback: str = "on_stage"
) -> Iterator[tuple[Callable[[Callable[[], T]], Awaitable[T]], Any]]:
    """A thread for blocking calls, one at a time, and the options of those calls.

    Nobody waits for its end, except the interpreter: a call that was left has a moment
    to notice that, when it next calls back.
    """
    is_left = threading.Event()
    tell = options.get(callback)
    tell = ignore if tell is None else tell
    check(**{callback: tell})

    def report(news: Any) -> Any:
        if is_left.is_set():
            raise Abandoned("the awaiting task was cancelled")
        return tell(news)

    thread = ThreadPoolExecutor(1, thread_name_prefix="hostbridge")
    loop = asyncio.get_running_loop()
    same = {**options, callback: report}
    begun: list[Future[Any]] = []
    if (asked := options.get("on_question")) is not None:
        same["on_question"] = _awaited(asked, loop, begun, is_left)
    try:
        yield (
            lambda call: loop.run_in_executor(thread, copy_context().run, call),
            same,
        )
    finally:
        is_left.set()
        for question in begun:
            question.cancel()
        thread.shutdown(wait=False)


def _awaited(
    on_question: Callable[[Any], Any],
    loop: asyncio.AbstractEventLoop,
    begun: list[Future[Any]],
    is_left: threading.Event,
) -> Callable[[Any], Any]:
    """The same function for a thread; one that is to be awaited runs in the loop.

    What runs there is added to `begun`, and cancelled by whoever sets `is_left`.
    """
    check(on_question=on_question)

    def asked(question: Any) -> Any:
        found = on_question(question)
        if asyncio.iscoroutine(found):
            begun.append(asyncio.run_coroutine_threadsafe(found, loop))
            if is_left.is_set():
                # The loop may have been quicker.
                begun[-1].cancel()
            return begun[-1].result()
        return found

    return asked


def _waiting(
    method: Callable[Concatenate[Bridge, P], T],
) -> Callable[Concatenate[AsyncBridge, P], Coroutine[Any, Any, T]]:
    """The same method, which may take long, run in a thread of its own.

    It takes nothing else: mypy would then see the first overload of `method` alone.
    """
    callback = "on_change" if method.__name__ in _RUNS else "on_stage"

    @wraps(method)
    async def call(self: AsyncBridge, /, *args: P.args, **options: P.kwargs) -> T:
        with own_thread(options, callback) as (in_thread, same):
            return await in_thread(lambda: method(self.bridge, *args, **same))

    return call


class AsyncBridge(_Awaited):
    """`Bridge` for asyncio: the same methods with the same arguments, awaited.

    The exceptions: `wait` takes one request, `as_completed` is for many. `on_stage`,
    `on_progress`, `on_question` and `on_change` are called in a thread; `on_question`
    may be a coroutine function, which the loop runs. `bridge` is the blocking one.
    """

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = self._blocking = bridge

    @classmethod
    def open(cls, path: Path | str | None = None) -> AsyncBridge:
        """The bridge of the project that `path` (default: the working folder) is in."""
        return cls(Bridge.open(path))

    @property
    def tasks(self) -> AsyncTasks:
        """The tasks of this project; see `Bridge.tasks`."""
        return AsyncTasks(self.bridge.tasks)

    submit = _in_thread(Bridge.submit)
    cancel = _in_thread(Bridge.cancel)
    respond = _in_thread(Bridge.respond)
    reply = _in_thread(Bridge.reply)
    questions = _in_thread(Bridge.questions)
    status = _in_thread(Bridge.status)
    overview = _in_thread(Bridge.overview)
    story = _in_thread(Bridge.story)
    stale = _in_thread(Bridge.stale)
    watch = _in_thread(Bridge.watch)
    write_lock = _in_thread(Bridge.write_lock)
    check_lock = _in_thread(Bridge.check_lock)
    stats = _in_thread(Bridge.stats)
    spans = _in_thread(Bridge.spans)
    report = _in_thread(Bridge.report)
    prune = _in_thread(Bridge.prune)
    variables = _in_thread(Bridge.variables)
    call_tool = _in_thread(Bridge.call_tool)
    validation = _in_thread(Bridge.validation)
    build_result = _in_thread(Bridge.build_result)

    ask = _waiting(Bridge.ask)
    run = _waiting(Bridge.run)
    resume = _waiting(Bridge.resume)
    validate = _waiting(Bridge.validate)
    build_and_validate = _waiting(Bridge.build_and_validate)

    @overload
    async def wait(
        self, request: str, *, schema: type[T], **options: Unpack[WaitOptions]
    ) -> Result[T]: ...

    @overload
    async def wait(
        self, request: str, *, schema: Json = None, **options: Unpack[WaitOptions]
    ) -> Result[Any]: ...

    @overload
    async def wait(
        self, request: str, *, schema: TypeForm[T], **options: Unpack[WaitOptions]
    ) -> Result[T]: ...

    async def wait(
        self, request: str, *, schema: Any = None, **options: Unpack[WaitOptions]
    ) -> Result[Any]:
        """Await one request; see `Bridge.wait`. For many there is `as_completed`.

        Raises:
            InvalidRequest: it is not an id.
        """
        if not isinstance(request, str):
            raise InvalidRequest(
                f"request {quoted(request)}: expected the id of one request; for many: "
                "async for result in bridge.as_completed(requests)"
            )
        wait = self.bridge.wait
        with own_thread(options) as (in_thread, same):
            return await in_thread(lambda: wait(request, schema=schema, **same))

    @overload
    def as_completed(
        self,
        requests: Iterable[str],
        *,
        schema: type[T],
        **options: Unpack[WaitOptions],
    ) -> AsyncIterator[Result[T | None]]: ...

    @overload
    def as_completed(
        self,
        requests: Iterable[str],
        *,
        schema: Json = None,
        **options: Unpack[WaitOptions],
    ) -> AsyncIterator[Result[Any]]: ...

    @overload
    def as_completed(
        self,
        requests: Iterable[str],
        *,
        schema: TypeForm[T],
        **options: Unpack[WaitOptions],
    ) -> AsyncIterator[Result[T | None]]: ...

    async def as_completed(
        self,
        requests: Iterable[str],
        *,
        schema: Any = None,
        **options: Unpack[WaitOptions],
    ) -> AsyncIterator[Result[Any]]:
        """Yield a result for each request as it ends; see `Bridge.wait`."""
        check(requests=requests)
        wanted = list(requests)
        wait = self.bridge.wait
        with own_thread(options) as (in_thread, same):
            # In the thread, since it reads a file for each request.
            results = await in_thread(lambda: wait(wanted, schema=schema, **same))
            while result := await in_thread(lambda: next(results, None)):
                yield result


class AsyncTasks(_Awaited):
    """`Tasks` for asyncio: the same verbs with the same arguments, awaited.

    A call that is cancelled may still be done; each is one transaction. `tasks` is the
    blocking one.
    """

    def __init__(self, tasks: Tasks) -> None:
        self.tasks = self._blocking = tasks

    get = _in_thread(Tasks.get)
    list = _in_thread(Tasks.list)
    tree = _in_thread(Tasks.tree)
    ready = _in_thread(Tasks.ready)
    counts = _in_thread(Tasks.counts)
    holder_of = _in_thread(Tasks.holder_of)
    create = _in_thread(Tasks.create)
    create_all = _in_thread(Tasks.create_all)
    update = _in_thread(Tasks.update)
    delete = _in_thread(Tasks.delete)
    depend = _in_thread(Tasks.depend)
    depend_no_more = _in_thread(Tasks.depend_no_more)
    claim = _in_thread(Tasks.claim)
    claim_next = _in_thread(Tasks.claim_next)
    release = _in_thread(Tasks.release)
    review = _in_thread(Tasks.review)
    escalate = _in_thread(Tasks.escalate)
    close = _in_thread(Tasks.close)
    reopen = _in_thread(Tasks.reopen)
    export = _in_thread(Tasks.export)
    import_ = _in_thread(Tasks.import_)
