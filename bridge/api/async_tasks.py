"""The tasks of a project for asyncio: each call runs in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from bridge.tasks.tasks import Tasks

P = ParamSpec("P")
T = TypeVar("T")


def _in_thread(
    method: Callable[Concatenate[Tasks, P], T],
) -> Callable[Concatenate[AsyncTasks, P], Coroutine[Any, Any, T]]:
    @wraps(method)
    async def call(self: AsyncTasks, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.tasks, *args, **kwargs)

    return call


class AsyncTasks:
    """`Tasks` for asyncio: the same verbs with the same arguments, awaited.

    A call that is cancelled may still be done; each is one transaction. `tasks` is the
    blocking one.
    """

    def __init__(self, tasks: Tasks) -> None:
        self.tasks = tasks

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
